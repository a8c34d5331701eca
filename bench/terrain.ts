// a policy on every patch of a terrain: falls and distance from its commands by kind and by row, in corral or in MuJoCo's
// own physics in float64, each episode on a patch drawn from all of them, the hardest too; and falls by the ground on which
// they happen, since robots walk from their patch onto others.
// Run: npx tsx bench/terrain.ts POLICY|RUN [EPISODES=1000] [corral|mujoco] [SEED=0]
import { existsSync } from "node:fs";
import "../envs/index.ts";
import { bipedRough, BIPED_GROUND } from "../envs/biped/rough.ts";
import { g1Rough, G1_GROUND } from "../envs/g1/rough.ts";
import { g1 } from "../envs/g1/task.ts";
import { go1 } from "../envs/go1/task.ts";
import { go1Rough, GO1_GROUND } from "../envs/go1/rough.ts";
import { guardOutput } from "../src/cli/io.ts";
import { groundAt } from "../src/env/task/terrain.ts";
import { encodePolicyOnnx } from "../src/export/onnx.ts";
import type { Scene, Task } from "../src/env/index.ts";
import { AppliedPolicy } from "../src/rl/networks/apply-policy.ts";
import { mostWorlds, openUnder, policyFrom, type Under } from "../src/runs/under-worlds.ts";
import { add, div, round, sub } from "../src/trace/scalar.ts";

/** A task of level ground, on the terrain of another that ends its episodes by it. */
function onGround(level: Task<object>, { terrain, values, terminated, info }: Task<object>): Task<object> {
  return { ...level, terrain, values, terminated, info };
}

/** By the task that a policy is of; one of level ground sees no heights. */
const TASKS = {
  BipedRough: { task: bipedRough, columns: BIPED_GROUND },
  Go1Rough: { task: go1Rough, columns: GO1_GROUND },
  Go1Velocity: { task: onGround(go1, go1Rough), columns: GO1_GROUND },
  G1Rough: { task: g1Rough, columns: G1_GROUND },
  G1Velocity: { task: { ...g1Rough, observe: g1.observe } as Task<object>, columns: G1_GROUND },
} as const;

/** Of a control step of all of them. */
const SECONDS = 0.02;

/** What an episode was. */
interface Episode {
  readonly row: number;
  readonly column: number;
  readonly length: number;
  readonly fell: boolean;
  readonly reward: number;
  readonly off: number;
  readonly turn: number;
}

const nameOf = (column: string | { readonly kind: string }): string =>
  typeof column === "string" ? column : column.kind;

/** The task with episodes on any patch, which says which column that is, and over which patch the robot is. */
function everywhere(task: Task<object>): Task<object> {
  const { ground } = task.terrain!;
  const place = (s: Scene, k: number) => groundAt(s, task.terrain!)[k];
  const column = (s: Scene) => round(sub((ground.columns - 1) / 2, div(place(s, 1), ground.patch)));
  const over = (count: number, k: number) => (s: Scene) =>
    round(add((count - 1) / 2, div(sub(s.d.qpos.at(k), place(s, k)), ground.patch)));
  const info = {
    ...(task.info as object),
    column,
    over_row: over(ground.rows, 0),
    over_column: over(ground.columns, 1),
  };
  return { ...task, terrain: { ...task.terrain!, startRows: ground.rows }, info };
}

/** Control steps on each kind of ground, in the easier half of its rows and in the harder one, and falls there. */
const walked = new Map<string, { steps: number; falls: number }>();

async function play(source: string, count: number, under: Under, seed: number): Promise<readonly Episode[]> {
  const { policy, id } = await policyFrom(source, {});
  const found = TASKS[id as keyof typeof TASKS];
  if (!found) throw new Error(`${source} is of ${id}; pass a policy of ${Object.keys(TASKS).join(" or ")}.`);
  const task = everywhere(found.task);
  // each world of MuJoCo has a height field of its own; about a hundred of them fit one process, freed or not
  const most = Math.min(count, under === "mujoco" ? 48 : 250, await mostWorlds(under, id));
  const episodes: Episode[] = [];
  for (let first = 0; first < count; first += most) {
    const numEnvs = Math.min(most, count - first);
    const worldIds = Array.from({ length: numEnvs }, (_, i) => first + i);
    const made = { numEnvs, worldIds, seed, ...(under === "corral" ? { device: "wasm", threads: 1 } : {}) };
    await using worlds = await openUnder(under, task, made, { policy, encode: encodePolicyOnnx });
    const { env } = worlds;
    const applied = new AppliedPolicy(policy, numEnvs);
    await env.reset({ seed });
    const sums = worldIds.map(() => ({ reward: 0, off: 0, turn: 0 }));
    const open = new Set(worldIds.keys());
    for (let t = 1; open.size > 0; t++) {
      const { rewards, infos, terminated, truncated } = await env.step(Array.from(applied.act(env.observations)));
      const told = (name: string, w: number) => infos.get(name)!.values[w];
      for (const w of open) {
        const sum = sums[w];
        sum.reward += rewards[w];
        sum.off += told("off", w);
        sum.turn += told("off_turn", w);
        const [overRow, overColumn] = [told("over_row", w), told("over_column", w)];
        const { rows } = found.task.terrain!.ground;
        const isOff = overRow < 0 || overRow >= rows || !found.columns[overColumn];
        const half = overRow < rows / 2 ? "easier rows" : "harder rows";
        const where = isOff ? "border" : `${nameOf(found.columns[overColumn])}, ${half}`;
        const there = walked.get(where) ?? { steps: 0, falls: 0 };
        walked.set(where, { steps: there.steps + 1, falls: there.falls + terminated[w] });
        if (!terminated[w] && !truncated[w]) continue;
        open.delete(w);
        const [row, column] = [told("row", w), told("column", w)];
        const { reward, off, turn } = sum;
        episodes.push({ row, column, length: t, fell: terminated[w] !== 0, reward, off, turn });
      }
      const over = Uint8Array.from(worldIds, (_, w) => terminated[w] | truncated[w]);
      if (over.includes(1) && open.size > 0) await env.reset({ options: { mask: over } });
    }
  }
  return episodes;
}

function line(name: string, some: readonly Episode[]): string {
  const steps = some.reduce((sum, { length }) => sum + length, 0);
  const mean = (of: (e: Episode) => number) => some.reduce((sum, e) => sum + of(e), 0);
  const falls = (100 * mean(({ fell }) => Number(fell))) / some.length;
  const returns = mean(({ reward }) => reward) / some.length;
  const [off, turn] = [mean((e) => e.off) / steps, mean((e) => e.turn) / steps];
  return `| ${name} | ${some.length} | ${returns.toFixed(0)} | ${falls.toFixed(1)} % | ${off.toFixed(3)} | ${turn.toFixed(3)} |`;
}

guardOutput();
const [source, count = "1000", under = "corral", seed = "0"] = process.argv.slice(2);
if (source === undefined || !existsSync(source)) throw new Error("Pass a policy, or the folder of a run.");
const began = process.cpuUsage();
const episodes = await play(source, Number(count), under as Under, Number(seed));
const { user, system } = process.cpuUsage(began);
const { id } = await policyFrom(source, {});
const { columns, task } = TASKS[id as keyof typeof TASKS];
console.log(`${id}, ${under}, seed ${seed}, ${((user + system) / 1e6).toFixed(0)} s of processor time`);
console.log("| | episodes | return | falls | off (m/s) | off_turn (rad/s) |\n|---|---:|---:|---:|---:|---:|");
console.log(line("all", episodes));
for (let row = 0; row < task.terrain!.ground.rows; row++) {
  const some = episodes.filter((e) => e.row === row);
  if (some.length > 0) console.log(line(`row ${row}`, some));
}
columns.forEach((kind, column) => {
  const some = episodes.filter((e) => e.column === column);
  if (some.length > 0) console.log(line(nameOf(kind), some));
});
console.log("\n| falls on | seconds there | falls | in 100 s |\n|---|---:|---:|---:|");
for (const [where, { steps, falls }] of [...walked].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const seconds = steps * SECONDS;
  console.log(`| ${where} | ${seconds.toFixed(0)} | ${falls} | ${((100 * falls) / seconds).toFixed(1)} |`);
}
