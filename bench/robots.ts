// models of robots on `wasm` beside MuJoCo's WebAssembly, one thread of each, in turns
// npx tsx bench/robots.ts [--worlds N] [--settle STEPS] [--rounds N] [--out FILE] NAME=FILE ...
import { writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { parseArgs } from "node:util";
import { cpuSeconds, machineFacts } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { createSimulation, loadModel } from "../src/index.ts";
import { HELD, median, stepsBesideMuJoCo } from "./beside-mujoco.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: {
    worlds: { type: "string", default: "32" },
    settle: { type: "string", default: "500" },
    rounds: { type: "string", default: "11" },
    out: { type: "string" },
  },
  allowPositionals: true,
});
const [worlds, settle, rounds] = [values.worlds, values.settle, values.rounds].map(Number);

/** Part of the contacts by which the sides may differ at the end of a turn that they begin in the same states. */
const DRIFT = 0.1;

async function measure(name: string, file: string): Promise<object> {
  const begun = cpuSeconds();
  const model = await loadModel(file);
  {
    await using simulation = await createSimulation(model, { numEnvs: worlds, device: "wasm", threads: 1 });
    simulation.step(1);
    await simulation.sync();
  }
  const firstStep = cpuSeconds() - begun;
  const { ours, mujoco, contacts } = await stepsBesideMuJoCo(model, { worlds, settle, rounds });
  const ratios = ours.map((mine, k) => mujoco[k] / mine);
  const least = Math.min(...ours);
  if (Math.abs(contacts.ours - contacts.mujoco) > DRIFT * Math.max(contacts.ours, contacts.mujoco))
    process.stderr.write(`${name}: the sides drift apart within a turn, so that the ratio is of unlike work\n`);
  return {
    name,
    file: `${basename(dirname(file))}/${basename(file)}`,
    nv: model.nv,
    geoms: model.ngeom,
    contacts: [contacts.ours, contacts.mujoco].map((x) => Number(x.toFixed(1))),
    ours: { least, median: median(ours) },
    mujoco: { least: Math.min(...mujoco), median: median(mujoco) },
    ratio: { median: median(ratios), least: Math.min(...ratios), ofLeast: Math.min(...mujoco) / least },
    firstStep,
  };
}

const rows: object[] = [];
for (const target of positionals) {
  const at = target.indexOf("=");
  const row = await measure(target.slice(0, at), target.slice(at + 1));
  rows.push(row);
  process.stdout.write(`${JSON.stringify(row)}\n`);
  const settings = { worlds, settle, rounds, held: HELD, unit: "processor microseconds of a world's step" };
  if (values.out) {
    const machine = machineFacts("wasm");
    writeFileSync(values.out, `${JSON.stringify({ machine, settings, robots: rows }, undefined, 2)}\n`);
  }
}
process.exit(0);
