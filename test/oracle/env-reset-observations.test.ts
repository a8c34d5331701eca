// what is observed and reported of a start state is what MuJoCo computes of it: after `reset`, and where a step ends an
// episode and the next begins in the same call, so that nothing of the last step may be left.
import { describe, expect, test } from "vitest";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { loadModel, idOf, type Model } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { distance } from "../support/recorded-steps.ts";
import { envBounds } from "../support/tolerances.ts";

type Read = (field: string) => Float64Array;

const clip = (x: number, limit: number) => Math.min(limit, Math.max(-limit, x));
const xpos = (model: Model, read: Read, body: string) => {
  const id = idOf(model, "body", body);
  return [...read("xpos").subarray(3 * id, 3 * id + 3)];
};
const minus = (a: readonly number[], b: readonly number[]) => a.map((x, k) => x - b[k]);

const humanoid = (_model: Model, read: Read) => [
  ...read("qpos").subarray(2),
  ...read("qvel"),
  ...read("cinert").subarray(10),
  ...read("cvel").subarray(6),
  ...read("qfrc_actuator").subarray(6),
  ...read("cfrc_ext").subarray(6),
];

/** Observations by docs/gymnasium-parity.md, of the data that mj_forward leaves. */
const OBSERVATIONS: [id: string, folder: string, observe: (model: Model, read: Read) => number[]][] = [
  ["Humanoid-v5", "humanoid", humanoid],
  ["HumanoidStandup-v5", "humanoid_standup", humanoid],
  [
    "InvertedDoublePendulum-v5",
    "inverted_double_pendulum",
    (_, read) => {
      const [cart, ...angles] = read("qpos");
      const velocities = [...read("qvel")].map((v) => clip(v, 10));
      return [
        cart,
        ...angles.map(Math.sin),
        ...angles.map(Math.cos),
        ...velocities,
        clip(read("qfrc_constraint")[0], 10),
      ];
    },
  ],
  [
    "Reacher-v5",
    "reacher",
    (model, read) => {
      const [q0, q1, ...target] = read("qpos");
      const offset = minus(xpos(model, read, "fingertip"), xpos(model, read, "target"));
      const cosines = [q0, q1].map(Math.cos);
      return [...cosines, ...[q0, q1].map(Math.sin), ...target, ...read("qvel").subarray(0, 2), ...offset.slice(0, 2)];
    },
  ],
  [
    "Pusher-v5",
    "pusher",
    (model, read) => [
      ...read("qpos").subarray(0, 7),
      ...read("qvel").subarray(0, 7),
      ...["tips_arm", "object", "goal"].flatMap((body) => xpos(model, read, body)),
    ],
  ],
];

const WORLDS = 3;

describe.each(OBSERVATIONS)("%s", (id, folder, observe) => {
  async function expectStarts(env: VectorEnv, observations: ArrayLike<number>): Promise<void> {
    const model = await loadModel(new URL(`../../envs/${folder}/model.xml`, import.meta.url));
    const { qpos, qvel } = await env.getState(["qpos", "qvel"]);
    const width = observations.length / WORLDS;
    await withMuJoCo(model, ({ mujoco, model: m, data, read, write }) => {
      for (let world = 0; world < WORLDS; world++) {
        mujoco.mj_resetData(m, data);
        write("qpos", qpos.subarray(model.nq * world, model.nq * (world + 1)));
        write("qvel", qvel.subarray(model.nv * world, model.nv * (world + 1)));
        mujoco.mj_forward(m, data);
        const seen = Array.prototype.slice.call(observations, width * world, width * (world + 1)) as number[];
        expect(distance(seen, observe(model, read)), `world ${world}`).toBeLessThanOrEqual(envBounds.qpos64.value);
        if (!folder.startsWith("humanoid")) continue;
        // reported of the start too
        const tendons = [...read("ten_length"), ...read("ten_velocity")];
        const names = ["tendon_length_0", "tendon_length_1", "tendon_velocity_0", "tendon_velocity_1"];
        const reported = names.map((name) => env.infos.get(name)!.values[world]);
        expect(distance(reported, tendons)).toBeLessThanOrEqual(envBounds.qpos64.value);
      }
    });
  }

  test("is observed after a reset, and after a step that ends an episode, as MuJoCo has it", async () => {
    await using env = await makeVec(id, {
      numEnvs: WORLDS,
      seed: 2,
      device: "cpu-f64",
      autoreset: "same-step",
      maxEpisodeSteps: 2,
    });
    await expectStarts(env, (await env.reset()).observations);
    await env.step(env.actionSpace.sample(1));
    const { observations, truncated } = await env.step(env.actionSpace.sample(2));
    expect([...truncated]).toEqual([1, 1, 1]);
    await expectStarts(env, observations);
  });
});
