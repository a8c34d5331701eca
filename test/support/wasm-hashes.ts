// what the device "wasm" makes of environments: a hash for any machine, version of Node and count of threads
import { createHash } from "node:crypto";
import { makeVec, type NamedOptions } from "../../src/env/make.ts";

/** Control steps of the hashes of an environment. */
export const [SHORT, LONG] = [15, 1000];

/** Of an environment after SHORT and after LONG control steps. */
export interface Hashes {
  readonly short: string;
  readonly long: string;
}

type Numbers = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

/** Words of floats as they are, NaN of one kind: what a NaN's other bits are is not defined. */
function words(values: ArrayLike<number>): Uint32Array {
  const floats = Float32Array.from(values);
  const bits = new Uint32Array(floats.buffer);
  floats.forEach((x, i) => {
    if (Number.isNaN(x)) bits[i] = 0x7fc00000;
  });
  return bits;
}

/** Worlds that are hashed, the first ones of any batch. */
const HASHED = 6;

/** A hash of what the first worlds observe, earn and are after each of some control steps with drawn actions. */
export async function hashOf(id: string, steps: number, options: object = {}): Promise<string> {
  const given = { numEnvs: HASHED, recorder: false, seed: 7, device: "wasm", ...options };
  await using env = await makeVec(id, given as NamedOptions);
  const hash = createHash("sha256");
  const add = (values: Numbers) => hash.update(words(values.subarray(0, (values.length / env.numEnvs) * HASHED)));
  add((await env.reset({ seed: 7 })).observations);
  for (let t = 0; t < steps; t++) {
    const { observations, rewards, terminated, truncated } = await env.step(env.actionSpace.sample(3, { draw: t }));
    for (const values of [observations, rewards, terminated, truncated]) add(values);
  }
  const state = await env.getState(["time", "qpos", "qvel", "qacc_warmstart"]);
  for (const values of Object.values(state)) add(values);
  return hash.digest("hex").slice(0, 32);
}
