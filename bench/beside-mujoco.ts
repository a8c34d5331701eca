// one model on `wasm` beside MuJoCo's WebAssembly: physics steps for the same processor time, one thread of each, in turns,
// under controls drawn anew every few steps; before each turn all of MuJoCo's worlds are put where ours are
import { cpuSeconds } from "../src/bench/machine.ts";
import { RandomStream, streams } from "../src/core/rng.ts";
import { createSimulation } from "../src/index.ts";
import type { Model } from "../src/model/model.ts";
import { MuJoCoWorld } from "../src/monitor/mujoco-world.ts";

/** Physics steps for which controls are held. */
export const HELD = 5;

/** How a model is measured. */
export interface Turns {
  readonly worlds: number;
  /** Physics steps before anything counts: worlds are on their ways, code is optimised. */
  readonly settle: number;
  readonly rounds: number;
}

/** Of each turn, processor microseconds of a world's step; contacts of a world at the end of a turn, in the mean. */
export interface BesideMuJoCo {
  readonly ours: readonly number[];
  readonly mujoco: readonly number[];
  readonly contacts: { readonly ours: number; readonly mujoco: number };
}

export const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1];

/** Controls of all worlds: anywhere in their ranges, within 1 where they have none. */
function draw({ nu, actuator_ctrlrange, actuator_ctrllimited }: Model, worlds: number, turn: number): Float32Array {
  const random = new RandomStream(0, turn, 0, streams.user);
  return Float32Array.from({ length: worlds * nu }, (_, i) => {
    const a = i % nu;
    const [low, high] = actuator_ctrllimited[a] ? actuator_ctrlrange.subarray(2 * a, 2 * a + 2) : [-1, 1];
    return low + (high - low) * random.uniform(i);
  });
}

/** Measures a model in turns. */
export async function stepsBesideMuJoCo(model: Model, { worlds, settle, rounds }: Turns): Promise<BesideMuJoCo> {
  await using simulation = await createSimulation(model, {
    numEnvs: worlds,
    device: "wasm",
    threads: 1,
    outputs: ["ncon"],
  });
  const { nq, nv, nu, na } = model;
  const home = model.nkey > 0 ? model.key_qpos.subarray(0, nq) : model.qpos0;
  await simulation.setState({ qpos: Float64Array.from({ length: worlds * nq }, (_, i) => home[i % nq]) });
  let turn = 0;
  const act = async (): Promise<Float32Array> => {
    const ctrl = draw(model, worlds, turn++);
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
  for (let k = 0; k < settle; k++) mujoco.mj_step(m, data);
  const kept = ["qpos", "qvel", "qacc_warmstart", ...(na > 0 ? (["act"] as const) : [])] as const;
  const sizes = { qpos: nq, qvel: nv, qacc_warmstart: nv, act: na };
  const ours: number[] = [];
  const theirs: number[] = [];
  const contacts = { ours: 0, mujoco: 0 };
  for (let round = 0; round < rounds; round++) {
    const ctrl = await act();
    const from = await simulation.getState([...kept]);
    let used = cpuSeconds();
    simulation.step(HELD);
    await simulation.sync();
    ours.push((1e6 * (cpuSeconds() - used)) / HELD / worlds);
    const { ncon } = await simulation.getState(["ncon"]);
    contacts.ours += ncon.reduce((a, b) => a + b, 0) / worlds / rounds;
    let spent = 0;
    for (let w = 0; w < worlds; w++) {
      const put = (name: string, of: ArrayLike<number>, size: number) =>
        (data[name as "qpos"] as Float64Array).set(Array.from({ length: size }, (_, i) => of[w * size + i]));
      mujoco.mj_resetData(m, data);
      for (const field of kept) put(field, from[field], sizes[field]);
      put("ctrl", ctrl, nu);
      used = cpuSeconds();
      for (let k = 0; k < HELD; k++) mujoco.mj_step(m, data);
      spent += cpuSeconds() - used;
      contacts.mujoco += data.ncon / worlds / rounds;
    }
    theirs.push((1e6 * spent) / HELD / worlds);
  }
  world.delete();
  return { ours, mujoco: theirs, contacts };
}
