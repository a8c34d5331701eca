// kernels of the recorder. `record` runs before each step, in its pass: it keeps the action, and at the start of a
// segment the state. `record_cut` makes the next step start a segment. `record_back` puts a state or an action back.
import { load4, loop, param, store4, when, world } from "../trace/control.ts";
import { trace, type Trace } from "../trace/graph.ts";
import { add, div, eq, ge, lt, mul, ne, not, select, sub, toI32, toU32, type Bool, type Int } from "../trace/scalar.ts";
import type { ArenaLayout } from "../memory/layout.ts";
import type { BatchParam, KernelSource } from "../batch/batch.ts";
import { copyFour, copyRecord } from "../batch/kernel/record-io.ts";
import { HEAD_WORDS, PLACES, recordOf } from "./arenas.ts";
import type { RecorderSettings } from "./options.ts";

type Layouts = Readonly<Record<string, ArenaLayout>>;

/** Parameters of `record_back`: the segment's place in the ring, and the step whose action it puts back; -1: the state. */
export const RECORD_PARAMS: readonly BatchParam[] = [
  { name: "record_segment", type: "i32", initial: 0 },
  { name: "record_step", type: "i32", initial: -1 },
];

const HEAD = HEAD_WORDS / 4;

/** A world's record in the ring. */
class Ring {
  readonly settings: RecorderSettings;
  readonly layouts: Layouts;
  readonly #place: Int;
  /** Whether the world is recorded. */
  readonly isRecorded: Bool;

  constructor(settings: RecorderSettings, layouts: Layouts) {
    this.settings = settings;
    this.layouts = layouts;
    if (settings.worlds === "all") {
      this.#place = world();
      this.isRecorded = true;
    } else {
      const [place] = load4(PLACES, world(), "u32");
      this.#place = sub(toI32(place), 1);
      this.isRecorded = ne(place, 0);
    }
  }

  get #rowOfActions(): Int {
    const { keep, everySteps } = this.settings;
    return mul(this.#place, HEAD + keep * everySteps * this.actionFours);
  }

  get actionFours(): number {
    return this.layouts.action.bytesPerWorld / 16;
  }

  tick(): Int {
    return toI32(load4(recordOf("action"), this.#rowOfActions, "u32")[0]);
  }

  setTick(tick: Int): void {
    store4(recordOf("action"), this.#rowOfActions, [toU32(tick), 0, 0, 0], "u32");
  }

  /** Copies an action into the ring, or back. */
  copyAction(tick: Int, back: boolean): void {
    const fours = this.actionFours;
    const row = add(add(this.#rowOfActions, HEAD), mul(tick, fours));
    const own = mul(world(), fours);
    loop(fours, (q) => copyFour("action", add(own, q), recordOf("action"), add(row, q), back));
  }

  /** Copies the state of a segment into the ring, or back. */
  copyState(arena: string, segment: Int, back: boolean): void {
    const layout = this.layouts[arena];
    const row = mul(add(mul(this.#place, this.settings.keep), segment), layout.worldVec4s);
    copyRecord(layout, world(), recordOf(arena), row, back);
  }
}

/** Kernels that record the arenas `states` of a batch whose kernels have the parameters `params`. */
export function recordKernels(
  states: readonly string[],
  settings: RecorderSettings,
  params: readonly Pick<BatchParam, "name" | "type">[],
): KernelSource[] {
  const { everySteps, keep } = settings;
  const kernel = (name: string, body: (ring: Ring) => void): KernelSource => ({
    name,
    trace: (layouts): Trace =>
      trace(
        () => {
          const ring = new Ring(settings, layouts);
          when(ring.isRecorded, () => body(ring));
        },
        { unroll: false, params },
      ),
  });
  const wrapped = (tick: Int) => select(ge(tick, keep * everySteps), 0, tick, "i32");
  const isStart = (tick: Int) => eq(sub(tick, mul(div(tick, everySteps), everySteps)), 0);

  return [
    kernel("record", (ring) => {
      const tick = ring.tick();
      when(isStart(tick), () => {
        for (const arena of states) ring.copyState(arena, div(tick, everySteps), false);
      });
      ring.copyAction(tick, false);
      ring.setTick(wrapped(add(tick, 1)));
    }),
    kernel("record_cut", (ring) => {
      const tick = ring.tick();
      when(not(isStart(tick)), () => {
        ring.setTick(wrapped(mul(add(div(tick, everySteps), 1), everySteps)));
      });
    }),
    kernel("record_back", (ring) => {
      const segment = param("record_segment", "i32");
      const step = param("record_step", "i32");
      when(
        lt(step, 0),
        () => {
          for (const arena of states) ring.copyState(arena, segment, true);
          // the next step is recorded in the segment after this one
          ring.setTick(mul(segment, everySteps));
        },
        () => ring.copyAction(add(mul(segment, everySteps), step), true),
      );
    }),
  ];
}
