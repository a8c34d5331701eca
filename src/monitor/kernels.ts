// copies of the worlds that are watched, made on the device before and after a step, in the step's own submission
import { locateWorld } from "../memory/shards.ts";
import type { ArenaLayout } from "../memory/layout.ts";
import type { ArenaRequest } from "../memory/request.ts";
import { hostRecords, type Batch, type BatchParam, type KernelSource } from "../batch/batch.ts";
import { copyRecord } from "../batch/kernel/record-io.ts";
import { load4, when, world } from "../trace/control.ts";
import { trace } from "../trace/graph.ts";
import { add, lt, mul, ne, sub, toI32, type Int } from "../trace/scalar.ts";
import type { MonitorSettings } from "./options.ts";

type Layouts = Readonly<Record<string, ArenaLayout>>;

/** What is watched in a shard: 1 + the world's place in the shard, or 0. */
const WATCHED = "monitor_worlds";
/** For each of them a row before the step, and a row after it. */
export const ROWS = "monitor_rows";
/** Kernels that copy the worlds before and after a step. */
export const BEFORE = "monitor_before";
export const AFTER = "monitor_after";

const ENTRY = 4;

/** Words of a row: the records of some arenas, one after the other. */
export const rowWords = (layouts: Layouts, arenas: readonly string[]): number =>
  arenas.reduce((sum, name) => sum + 4 * layouts[name].worldVec4s, 0);

/** Arenas of the monitor, for copies of `arenas`. */
export function monitorArenas(arenas: readonly ArenaRequest[], { worlds }: MonitorSettings): ArenaRequest[] {
  const fours = arenas.flatMap(({ fields }) => fields.map(({ perWorld = 0 }) => Math.ceil(perWorld / 4)));
  const words = 4 * fours.reduce((sum, n) => sum + n, 0);
  const arena = (name: string, shared: number): ArenaRequest => {
    const field = { name, group: "record", type: "u32", shared, remedy: "fewer monitored worlds" } as const;
    return { name, access: "read_write", layout: "rows", scope: "shard", fields: [field] };
  };
  return [arena(WATCHED, ENTRY * worlds.length), arena(ROWS, 2 * words * worlds.length)];
}

/** Kernels of the monitor in a batch whose kernels have the parameters `params`. */
export function monitorKernels(
  arenas: readonly string[],
  { worlds }: MonitorSettings,
  params: readonly Pick<BatchParam, "name" | "type">[],
): KernelSource[] {
  const copy = (layouts: Layouts, from: Int, row: Int) => {
    let at = row;
    for (const name of arenas) {
      copyRecord(layouts[name], from, ROWS, at);
      at = add(at, layouts[name].worldVec4s);
    }
  };
  return [BEFORE, AFTER].map((name, half) => ({
    name,
    trace: (layouts) =>
      trace(
        () => {
          // one invocation for each world that is watched, whichever it is
          const place = world();
          when(lt(place, worlds.length), () => {
            const [entry] = load4(WATCHED, place, "u32");
            when(ne(entry, 0), () => {
              const row = mul(add(mul(place, 2), half), rowWords(layouts, arenas) / 4);
              copy(layouts, sub(toI32(entry), 1), row);
            });
          });
        },
        { unroll: false, params },
      ),
  }));
}

/** The worlds of a shard that are watched, in the order of their rows. */
export const watchedIn = (batch: Batch, shard: number, { worlds }: MonitorSettings): number[] =>
  worlds.filter((w) => locateWorld(batch.planned.plan, w).shard === shard);

/** Tells the device which worlds are watched. */
export async function writeWatched(batch: Batch, settings: MonitorSettings): Promise<void> {
  for (const { index } of batch.planned.plan.shards) {
    const records = hostRecords(ENTRY * settings.worlds.length, batch.doubles);
    watchedIn(batch, index, settings).forEach((w, place) => {
      records.u32[ENTRY * place] = locateWorld(batch.planned.plan, w).local + 1;
    });
    await batch.write(WATCHED, index, records);
  }
}
