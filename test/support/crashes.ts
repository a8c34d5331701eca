// crashes, planted in a few worlds of a batch at one step: what is planted, and what must be found
import { createHash } from "node:crypto";
import type { HealthReport } from "../../src/env/host/health.ts";
import { defineTask, makeVec, type Task, type VectorEnv, type VecOptions } from "../../src/env/index.ts";
import { div, eq, mul, select, sqrt, square, sub, type Scalar } from "../../src/trace/scalar.ts";
import type { SecondOpinion } from "../../src/crash/second-opinion.ts";

export interface Plant {
  readonly name: string;
  readonly task: (worlds: readonly number[]) => Task<object>;
  readonly options?: Partial<VecOptions>;
  /** What the crash needs besides the model: done to these worlds before step `PLANTED_AT`. */
  readonly plant?: (env: VectorEnv, worlds: readonly number[]) => Promise<void>;
  /** The first action of these worlds from then on; others act 0. */
  readonly action?: number;
  /** The worlds that crash, if chance makes them. */
  readonly worlds?: (options: VecOptions) => Promise<number[]>;
  /** The plant writes into the actions on a GPU. */
  readonly gpuOnly?: boolean;
  /** Status bits of which one is set. */
  readonly status: string;
  readonly stage: RegExp;
  readonly field: RegExp;
  readonly cause: string;
  readonly verdict: SecondOpinion["verdict"];
}

const task = (id: string, xml: string, more: Partial<Task<object>> = {}): Task<object> =>
  defineTask({
    id,
    model: `<mujoco model="${id}">${xml}</mujoco>`,
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    defaults: {},
    observe: (s) => ({ qpos: s.d.qpos.all(), qvel: s.d.qvel.all() }),
    reward: (s) => ({ speed: mul(0, s.d.qvel.at(0)) }),
    terminated: () => ({}),
    reset: (s) => ({ qpos: Array.from(s.model.qpos0), qvel: Array.from({ length: s.model.nv }, () => 0) }),
    ...more,
  });

const slider = (joint: string, body = "") =>
  `<option gravity="0 0 0"/><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0" ${joint}/>
   <geom name="box" type="box" size=".1 .1 .1" mass="1"/>${body}</body></worldbody>
   <actuator><motor name="push" joint="slide" ctrlrange="-1 1"/></actuator>`;

/** A mote that weighs 1 kg in its MJCF, and anything from there to nothing in a world. */
const drawnMote = task(
  "DrawnMote",
  `<option gravity="0 0 0"/><worldbody><body name="mote"><joint name="slide" type="slide" axis="1 0 0"/>
   <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
   <actuator><motor name="push" joint="slide" ctrlrange="-1 1"/></actuator>`,
  { randomise: { weight: { field: "body_mass", of: "mote", set: { logUniform: [1e-15, 1] } } } },
);

const nudge = (name: "qpos" | "qvel", value: number) => async (env: VectorEnv, worlds: readonly number[]) => {
  const now = await env.getState([name], worlds);
  await env.setState(
    { [name]: now[name].map((x, i) => (i % (now[name].length / worlds.length) === 0 ? x + value : x)) },
    worlds,
  );
};

/** Writes into the actions on the device, as a policy that runs there does. */
async function writeAction(env: VectorEnv, worlds: readonly number[], value: number): Promise<void> {
  const { actions } = env.gpu!;
  const { device } = env.gpu!.device;
  for (const world of worlds)
    device.queue.writeBuffer(actions.shards[0].buffer, actions.offset + actions.stride * world, Float32Array.of(value));
}

export const PLANTS: readonly Plant[] = [
  {
    name: "timestep",
    task: () => task("Timestep", slider('stiffness="2000"')),
    plant: async (env, worlds) => {
      await nudge("qpos", 0.1)(env, worlds);
      env.setOptions({ timestep: 0.002 * 40 });
    },
    status: "BAD_QACC",
    stage: /passive|acceleration|solver|integrate/,
    field: /qfrc_spring|qfrc_passive|qacc|qvel|qpos/,
    cause: "timestep-stiffness",
    verdict: "physics",
  },
  {
    name: "stiff spring",
    task: () => task("Spring", slider('stiffness="1e8"')),
    plant: nudge("qpos", 0.1),
    status: "BAD_QACC",
    stage: /passive|acceleration|solver|integrate/,
    field: /qfrc_spring|qfrc_passive|qacc|qvel|qpos/,
    cause: "timestep-stiffness",
    verdict: "physics",
  },
  {
    name: "zero inertia",
    task: () =>
      task(
        "Massless",
        `<option gravity="0 0 0"/><worldbody><body name="mote"><joint name="slide" type="slide" axis="1 0 0"/>
         <inertial pos="0 0 0" mass="3e-15" diaginertia="3e-15 3e-15 3e-15"/></body></worldbody>
         <actuator><motor name="push" joint="slide" ctrlrange="-1 1"/></actuator>`,
      ),
    action: 1,
    status: "BAD_QACC",
    stage: /factor_m|acceleration|solver/,
    field: /qLDiagInv|qacc/,
    cause: "zero-inertia",
    verdict: "physics",
  },
  {
    name: "zero inertia after randomisation",
    task: () => drawnMote,
    worlds: async (options) => {
      await using env = await makeVec(drawnMote, options);
      await env.reset();
      const { weight } = await env.getState(["weight"]);
      return [...weight.keys()].filter((w) => weight[w] < 1e-13).slice(0, 3);
    },
    action: 1,
    status: "BAD_QACC",
    stage: /factor_m|acceleration|solver/,
    field: /qLDiagInv|qacc/,
    cause: "zero-inertia",
    verdict: "physics",
  },
  {
    // aligned, the two slides share one axis, and 1e4 + 1e-4 kg is 1e4 in float32; PGS takes M, where bodies would not
    name: "mass ratio",
    task: () =>
      task(
        "MassRatio",
        `<option gravity="0 0 0" solver="PGS"/><worldbody><body name="feather"><joint name="rail" type="slide" axis="1 0 0"/>
         <inertial pos="0 0 0" mass="1e-4" diaginertia="1 1 1"/>
         <body name="anvil"><joint name="turn" type="hinge" axis="0 1 0"/><joint name="slot" type="slide" axis="1 0 0"/>
         <inertial pos="0 0 0" mass="1e4" diaginertia="1 1 1"/></body></body></worldbody>
         <actuator><motor name="push" joint="turn" ctrlrange="-1 1"/></actuator>`,
        { reset: () => ({ qpos: [0, Math.PI / 2, 0], qvel: [0, 0, 0] }) },
      ),
    plant: (env, worlds) => env.setState({ qpos: worlds.flatMap(() => [0, 0, 0]) }, worlds),
    status: "BAD_QACC",
    stage: /factor_m/,
    field: /qLD/,
    cause: "mass-ratio",
    verdict: "precision",
  },
  {
    name: "external force",
    task: (worlds) =>
      task("Force", slider('stiffness="10"'), {
        events: {
          // a gust that divides by what is left of its time
          gust: (s) => {
            const isOurs = worlds.reduce<Scalar>((hit, w) => select(eq(s.world, w), 1, hit, "f32"), 0);
            const left = select(eq(s.length, 15), sub(1, isOurs), 1, "f32");
            return { qfrc_applied: [div(0.5, left)] };
          },
        },
      }),
    status: "BAD_QACC",
    stage: /events/,
    field: /qfrc_applied/,
    cause: "external-force",
    verdict: "physics",
  },
  {
    name: "NaN action",
    gpuOnly: true,
    task: () => task("NanAction", slider('stiffness="10"')),
    plant: (env, worlds) => writeAction(env, worlds, Number.NaN),
    status: "BAD_CTRL",
    stage: /action/,
    field: /action/,
    cause: "action-not-finite",
    verdict: "input",
  },
  {
    name: "capacity",
    task: () =>
      task(
        "Capacity",
        `<option gravity="0 0 0"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/><body name="crate" pos="0 0 .5">
         <joint name="drop" type="slide" axis="0 0 1"/><geom name="box" type="box" size=".1 .1 .1" mass="1"/></body></worldbody>
         <actuator><motor name="push" joint="drop" ctrlrange="-1 1"/></actuator>`,
      ),
    options: { nconmax: 1 },
    plant: nudge("qpos", -0.41),
    status: "CONTACT_OVERFLOW",
    stage: /collision/,
    field: /contact/,
    cause: "contact-overflow",
    verdict: "capacity",
  },
  {
    name: "reward division",
    task: () =>
      task("Reward", slider('stiffness="10"'), {
        reward: (s) => ({ alive: 1, near: div(1, sub(s.before.qpos[0], 0.25)) }),
      }),
    plant: async (env, worlds) => env.setState({ qpos: worlds.map(() => 0.25) }, worlds),
    status: "BAD_REWARD",
    stage: /task/,
    field: /near/,
    cause: "division-by-zero",
    verdict: "task",
  },
  {
    name: "observation root",
    task: () =>
      task("Root", slider('stiffness="10"'), {
        observe: (s) => ({ depth: [sqrt(sub(1, square(s.before.qpos[0])))], speed: s.d.qvel.all() }),
      }),
    plant: async (env, worlds) => env.setState({ qpos: worlds.map(() => 3) }, worlds),
    status: "BAD_OBS",
    stage: /task/,
    field: /depth/,
    cause: "root-of-negative",
    verdict: "task",
  },
  {
    name: "bad reset state",
    task: (worlds) =>
      task("Reset", slider('stiffness="10"'), {
        maxEpisodeSteps: 10,
        reset: (s) => {
          // the second episode of these worlds begins nowhere
          const isOurs = worlds.reduce<Scalar>((hit, w) => select(eq(s.world, w), 0, hit, "f32"), 1);
          const divisor = select(eq(s.episode, 0), 1, isOurs, "f32");
          return { qpos: [div(0.1, divisor)], qvel: [0] };
        },
      }),
    status: "BAD_QPOS",
    stage: /reset/,
    field: /qpos/,
    cause: "bad-reset-state",
    verdict: "input",
  },
];

/** Control steps of a run, and the one before which crash number `i` is planted. */
export const STEPS = 32;
export const plantedAt = (i: number): number => 12 + ((7 * i) % 17);

/** What a run left: results of all other worlds at every step, as one hash. */
export interface Run {
  readonly health: HealthReport;
  readonly others: string;
}

/** Runs a batch in which worlds crash, or with no `worlds` the same without. */
export async function runPlant(
  i: number,
  worlds: readonly number[],
  crashes: boolean,
  options: VecOptions,
): Promise<Run> {
  const plant = PLANTS[i];
  const { numEnvs } = options;
  // of the twin other worlds, that are not there, are the ones
  const ours = crashes ? worlds : [];
  const task = plant.task(crashes ? worlds : worlds.map((w) => w + 1e6));
  await using env = await makeVec(task, { seed: 1, ...plant.options, ...options } as VecOptions);
  const hash = createHash("sha256");
  const mine = new Set(worlds);
  const nobs = env.singleObservationSpace.size;
  const actions = new Float32Array(env.actionSpace.size);
  await env.reset();
  for (let t = 1; t <= STEPS; t++) {
    const now = t === plantedAt(i);
    if (now) await plant.plant?.(env, ours);
    if (now && plant.action !== undefined) for (const w of ours) actions[w] = plant.action;
    await env.step(now && plant.gpuOnly ? env.gpu!.actions : actions);
    for (let w = 0; w < numEnvs; w++) {
      if (mine.has(w)) continue;
      hash.update(env.observations.subarray(w * nobs, (w + 1) * nobs));
      hash.update(Float32Array.of(env.rewards[w], env.terminated[w], env.truncated[w]));
    }
  }
  return { health: env.health(), others: hash.digest("hex") };
}
