// what a hash of an environment on the device "wasm" is of: the same in Node and in a page
import type { NamedOptions } from "../../src/env/make.ts";
import type { VectorEnv } from "../../src/env/index.ts";

type Make = (id: string, options: NamedOptions) => Promise<VectorEnv>;
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

/** What the first worlds observe, earn and are after each of some control steps with drawn actions. */
export async function* wordsOf(
  makeVec: Make,
  id: string,
  steps: number,
  options: object = {},
): AsyncGenerator<Uint32Array> {
  const given = { numEnvs: HASHED, recorder: false, seed: 7, device: "wasm", ...options };
  await using env = await makeVec(id, given as NamedOptions);
  const first = (values: Numbers) => words(values.subarray(0, (values.length / env.numEnvs) * HASHED));
  yield first((await env.reset({ seed: 7 })).observations);
  for (let t = 0; t < steps; t++) {
    const { observations, rewards, terminated, truncated } = await env.step(env.actionSpace.sample(3, { draw: t }));
    for (const values of [observations, rewards, terminated, truncated]) yield first(values);
  }
  const state = await env.getState(["time", "qpos", "qvel", "qacc_warmstart"]);
  for (const values of Object.values(state)) yield first(values);
}
