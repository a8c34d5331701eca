// the program of a bundle over one step of one world, operation by operation; no batch is made for it
import { layoutsOf } from "../batch/batch.ts";
import type { Bundle } from "../record/bundle.ts";
import { packedIndex } from "../record/recorder.ts";
import { interpreted, type InterpretOptions, type Interpretation, type Interpreted } from "../trace/interpret.ts";
import type { Precision } from "../trace/javascript.ts";
import { numbersOf } from "../record/words.ts";
import type { Deadline } from "./deadline.ts";
import { plannedOf } from "./reexecute.ts";
import type { Moment } from "./timeline.ts";

export class Interpreter {
  readonly #bundle: Bundle;
  readonly #planned: ReturnType<typeof plannedOf>;
  readonly #deadline: Deadline;
  readonly #programs = new Map<Precision, Interpreted>();

  constructor(bundle: Bundle, deadline: Deadline) {
    this.#bundle = bundle;
    this.#planned = plannedOf(bundle, bundle.kernel);
    this.#deadline = deadline;
  }

  /** The precision that comes closest to the recording's. */
  get precision(): Precision {
    return this.#bundle.about.device.precision === "f64" ? "f64" : "f32";
  }

  /** @throws CorralError replay-endless */
  step(moment: Moment, row: number, options: Partial<InterpretOptions> = {}): Interpretation {
    const { plan, spec } = this.#planned;
    const layouts = layoutsOf(plan);
    const [{ paddedWorlds }] = plan.shards;
    const worlds = this.#bundle.recording.worlds.length;
    const buffers: Record<string, Float64Array> = {};
    for (const { name } of spec.arenas) {
      const layout = layouts[name];
      buffers[name] = new Float64Array((layout.sharedBytes + layout.bytesPerWorld * paddedWorlds) / 4);
      const given = name === "action" ? moment.actions : moment.before[name];
      if (!given) continue;
      const numbers = numbersOf(layout, given);
      const size = numbers.length / worlds;
      packedIndex(layout, paddedWorlds, row).forEach((at, k) => (buffers[name][at] = numbers[row * size + k]));
    }
    const given = spec.params.map(({ name, initial }) => moment.params[name] ?? initial);
    const bindings = { buffers, params: Float64Array.of(worlds, 0, ...given), onTurns: this.#deadline.check };
    return this.#program(options.precision ?? this.precision)(bindings, { world: row, ...options });
  }

  #program(precision: Precision): Interpreted {
    const made = this.#programs.get(precision) ?? interpreted(this.#bundle.trace, precision);
    this.#programs.set(precision, made);
    return made;
  }
}
