// models of robots on `wasm` beside MuJoCo's WebAssembly: physics steps for the same processor time, one thread of each, in
// turns, under controls drawn anew every few steps; MuJoCo's worlds go on from ours before each turn.
// npx tsx bench/robots.ts [--worlds N] [--settle STEPS] [--rounds N] [--out FILE] NAME=FILE ...
import { writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { parseArgs } from "node:util";
import { cpuSeconds, machineFacts } from "../src/bench/machine.ts";
import { RandomStream, streams } from "../src/core/rng.ts";
import { createSimulation, loadModel } from "../src/index.ts";
import type { Model } from "../src/model/model.ts";
import { MuJoCoWorld } from "../src/monitor/mujoco-world.ts";

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
/** Physics steps for which controls are held. */
const HELD = 5;
/** Worlds of ours that MuJoCo goes on from in a turn. */
const PEERS = Math.min(8, worlds);

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1];

/** Controls of all worlds: anywhere in their ranges, within 1 where they have none. */
function draw({ nu, actuator_ctrlrange, actuator_ctrllimited }: Model, turn: number): Float32Array {
  const random = new RandomStream(0, turn, 0, streams.user);
  return Float32Array.from({ length: worlds * nu }, (_, i) => {
    const a = i % nu;
    const [low, high] = actuator_ctrllimited[a] ? actuator_ctrlrange.subarray(2 * a, 2 * a + 2) : [-1, 1];
    return low + (high - low) * random.uniform(i);
  });
}

async function measure(name: string, file: string): Promise<object> {
  const begun = cpuSeconds();
  const model = await loadModel(file);
  const outputs = ["ncon", "solver_niter"] as const;
  await using simulation = await createSimulation(model, { numEnvs: worlds, device: "wasm", threads: 1, outputs });
  simulation.step(1);
  await simulation.sync();
  const firstStep = cpuSeconds() - begun;

  const { nq, nv, nu, na } = model;
  const home = model.nkey > 0 ? model.key_qpos.subarray(0, nq) : model.qpos0;
  await simulation.setState({ qpos: Float64Array.from({ length: worlds * nq }, (_, i) => home[i % nq]) });
  let turn = 0;
  const act = async (): Promise<Float32Array> => {
    const ctrl = draw(model, turn++);
    if (nu > 0) await simulation.setState({ ctrl });
    return ctrl;
  };
  for (let k = 0; k < settle / HELD; k++) {
    await act();
    simulation.step(HELD);
  }
  await simulation.sync();

  const world = await MuJoCoWorld.create(model);
  const { mujoco, model: m, data } = world.oracle;
  // both engines' code is optimised before anything counts
  for (let k = 0; k < settle; k++) mujoco.mj_step(m, data);
  const kept = ["qpos", "qvel", "qacc_warmstart", ...(na > 0 ? (["act"] as const) : [])] as const;
  const ours: number[] = [];
  const theirs: number[] = [];
  const contacts = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const ctrl = await act();
    const from = await simulation.getState([...kept]);
    let used = cpuSeconds();
    simulation.step(HELD);
    await simulation.sync();
    ours.push((1e6 * (cpuSeconds() - used)) / HELD / worlds);
    const { ncon } = await simulation.getState(["ncon"]);
    contacts[0] += ncon.reduce((a, b) => a + b, 0) / worlds / rounds;
    let spent = 0;
    for (let w = 0; w < PEERS; w++) {
      const put = (name: string, of: ArrayLike<number>, size: number) =>
        (data[name as "qpos"] as Float64Array).set(Array.from({ length: size }, (_, i) => of[w * size + i]));
      mujoco.mj_resetData(m, data);
      for (const field of kept) put(field, from[field], { qpos: nq, qvel: nv, qacc_warmstart: nv, act: na }[field]);
      put("ctrl", ctrl, nu);
      used = cpuSeconds();
      for (let k = 0; k < HELD; k++) mujoco.mj_step(m, data);
      spent += cpuSeconds() - used;
      contacts[1] += data.ncon / PEERS / rounds;
    }
    theirs.push((1e6 * spent) / HELD / PEERS);
  }
  world.delete();
  const ratios = ours.map((mine, k) => theirs[k] / mine);
  return {
    name,
    file: `${basename(dirname(file))}/${basename(file)}`,
    nv,
    geoms: model.ngeom,
    contacts: contacts.map((x) => Number(x.toFixed(1))),
    ours: { least: Math.min(...ours), median: median(ours) },
    mujoco: { least: Math.min(...theirs), median: median(theirs) },
    ratio: { median: median(ratios), least: Math.min(...ratios), ofLeast: Math.min(...theirs) / Math.min(...ours) },
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
