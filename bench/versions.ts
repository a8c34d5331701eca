// two checkouts of corral in turns: env steps for each second of the processor on the device wasm, in one thread. What else
// the machine does slows both sides of a round alike, so rounds give ratios.
// npx tsx bench/versions.ts BEFORE [--rounds N] [--steps N] [--out FILE] [ENV=WORLDS ...], BEFORE another checkout
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineFacts } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { ROOT } from "../test/support/imports.ts";
import { Side } from "./sides.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { rounds: { type: "string" }, steps: { type: "string" }, out: { type: "string" } },
  allowPositionals: true,
});
const [before, ...others] = positionals;
const rounds = Number(values.rounds ?? 15);
const steps = Number(values.steps ?? 20);
const targets = others.length > 0 ? others : ["HalfCheetah-v5=512", "Ant-v5=256", "Humanoid-v5=64"];

const commitOf = (checkout: string): string =>
  execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: checkout, encoding: "utf8" }).trim();
const quantile = (list: readonly number[], q: number): number =>
  list.toSorted((a, b) => a - b)[Math.round(q * (list.length - 1))];

const environments = [];
for (const target of targets) {
  const [id, worlds] = target.split("=");
  const start = (checkout: string): Promise<Side<object>> => {
    const args = ["--import", "tsx", join(ROOT, "bench/version-side.ts")];
    return Side.start(checkout, process.execPath, args, { checkout, id, numEnvs: Number(worlds), steps });
  };
  const sides = { before: await start(before), now: await start(ROOT) };
  const rates = { before: [] as number[], now: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (["before", "now"] as const) : (["now", "before"] as const);
    for (const side of order) rates[side].push(await sides[side].ask("step"));
  }
  await sides.before.close();
  await sides.now.close();
  const ratios = rates.now.map((rate, i) => rate / rates.before[i]);
  const row = {
    id,
    numEnvs: Number(worlds),
    before: Math.round(quantile(rates.before, 0.5)),
    now: Math.round(quantile(rates.now, 0.5)),
    ratio: quantile(ratios, 0.5),
    quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
    best: Math.max(...rates.now) / Math.max(...rates.before),
  };
  environments.push(row);
  console.log(
    `${id}: ${row.before} to ${row.now} env steps for each second of the processor, ratio ${row.ratio.toFixed(3)} ` +
      `(quartiles ${row.quartiles.map((x) => x.toFixed(3)).join(" to ")}; of the best of each side ${row.best.toFixed(3)})`,
  );
}
const commits = { before: commitOf(before), now: commitOf(ROOT) };
const result = { ...machineFacts("wasm, one thread"), commits, rounds, steps, environments };
if (values.out) writeFileSync(values.out, `${JSON.stringify(result, undefined, 2)}\n`);
