// models and states for tests
import { readdirSync } from "node:fs";
import { mjtJoint } from "../../src/model/enums.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { createRandom, type Random } from "./mjcf-random.ts";

const folder = new URL("../models/", import.meta.url);

/** Names of the models in test/models, without ".xml". */
export const TEST_MODELS: readonly string[] = readdirSync(folder)
  .filter((f) => f.endsWith(".xml"))
  .map((f) => f.slice(0, -".xml".length))
  .sort();

/** Names of the models in envs. */
export const ENV_MODELS = [
  "ant",
  "half_cheetah",
  "hopper",
  "walker2d",
  "inverted_pendulum",
  "cartpole",
  "reacher",
  "swimmer",
  "pusher",
] as const;

/** A model of test/models, or "envs/ant" for one of the environments. */
export function loadTestModel(name: string): Promise<Model> {
  const env = /^envs\/(.*)$/.exec(name)?.[1];
  return loadModel(env ? new URL(`../../envs/${env}/model.xml`, import.meta.url) : new URL(`${name}.xml`, folder));
}

/** What MuJoCo needs to compute a step. */
export interface TestState {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly act: Float64Array;
  readonly ctrl: Float64Array;
}

/**
 * A state near the default pose: positions moved by up to `spread` (m, rad), velocities up to 10 times that, controls
 * a little beyond their range. Quaternions are unit.
 */
export function randomState(model: Model, seed: number, spread = 0.1): TestState {
  const random = createRandom(seed);
  const qpos = Float64Array.from(model.qpos0);
  for (let j = 0; j < model.njnt; j++) {
    const type = model.jnt_type[j];
    let at = model.jnt_qposadr[j];
    const scalars = type === mjtJoint.FREE ? 3 : type === mjtJoint.BALL ? 0 : 1;
    for (let i = 0; i < scalars; i++) qpos[at++] += random.between(-spread, spread);
    if (type === mjtJoint.FREE || type === mjtJoint.BALL) turn(qpos.subarray(at, at + 4), random, spread);
  }
  const fill = (n: number, x: number) => Float64Array.from({ length: n }, () => random.between(-x, x));
  const ctrl = Float64Array.from({ length: model.nu }, (_, u) => {
    const [low, high] = model.actuator_ctrllimited[u] ? model.actuator_ctrlrange.subarray(2 * u, 2 * u + 2) : [-1, 1];
    return random.between(low - 0.1 * (high - low), high + 0.1 * (high - low));
  });
  return { qpos, qvel: fill(model.nv, 10 * spread), act: fill(model.na, 0.5), ctrl };
}

/** Moves a quaternion and makes it unit again. */
function turn(quat: Float64Array, random: Random, spread: number): void {
  for (let i = 0; i < 4; i++) quat[i] += random.between(-spread, spread);
  const norm = Math.hypot(...quat);
  for (let i = 0; i < 4; i++) quat[i] /= norm;
}
