// tasks of dm_control's suite against steps recorded from dm_control itself: every observation and reward, from the recorded
// state, in float64 and on WebAssembly; one world for each step
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { defineVec } from "../../src/env/make.ts";
import { distance } from "../support/recorded-steps.ts";
import { envBounds } from "../support/tolerances.ts";

interface Step {
  readonly qpos: number[];
  readonly qvel: number[];
  readonly qacc_warmstart: number[];
  readonly target?: number[];
  readonly turn?: number[];
  readonly action: number[];
  readonly after: { readonly qpos: number[]; readonly qvel: number[] };
  readonly observation: number[];
  readonly reward: number;
}
interface Recorded {
  readonly task: string;
  readonly frame_skip: number;
  readonly limit: number;
  readonly body_mass: number[];
  readonly body_inertia: number[];
  readonly dof_damping: number[];
  readonly jnt_range: number[];
  readonly steps: Step[];
}

const folder = new URL("../fixtures/dm_control/", import.meta.url);
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Recorded);

const all = (steps: readonly Step[], of: (s: Step) => ArrayLike<number>) =>
  Float64Array.from(steps.flatMap((s) => Array.from(of(s))));

async function replayed({ task, steps }: Recorded, device: "cpu-f64" | "wasm") {
  await using env = await makeVec(`dm-${task}`, {
    numEnvs: steps.length,
    device,
    autoreset: "disabled",
    recorder: false,
  });
  await env.reset({ seed: 0 });
  await env.setState({
    qpos: all(steps, (s) => s.qpos),
    qvel: all(steps, (s) => s.qvel),
    qacc_warmstart: all(steps, (s) => s.qacc_warmstart),
    ...(steps[0].target ? { target: all(steps, (s) => s.target!) } : {}),
    ...(steps[0].turn ? { turn: all(steps, (s) => s.turn!) } : {}),
  });
  const { observations, rewards } = await env.step(Float32Array.from(all(steps, (s) => s.action)));
  const after = await env.getState(["qpos", "qvel"]);
  const { nq, nv } = env.model;
  const nobs = observations.length / steps.length;
  const worst = { qpos: 0, qvel: 0, observation: 0, reward: 0 };
  steps.forEach((step, w) => {
    const row = (values: ArrayLike<number>, n: number) => Array.from(values).slice(w * n, (w + 1) * n);
    expect(step.observation).toHaveLength(nobs);
    const errors = {
      qpos: distance(row(after.qpos, nq), step.after.qpos),
      qvel: distance(row(after.qvel, nv), step.after.qvel),
      observation: distance(row(observations, nobs), step.observation),
      reward: Math.abs(rewards[w] - step.reward),
    };
    for (const name of Object.keys(worst) as (keyof typeof worst)[]) worst[name] = Math.max(worst[name], errors[name]);
  });
  return worst;
}

describe.each(recordings.map((r) => [r.task, r] as const))("dm-%s", (task, recorded) => {
  test("has the original's numbers", async () => {
    const { settings } = await defineVec(`dm-${task}`, { numEnvs: 1 });
    const { model, vec } = settings;
    expect(vec.frameSkip).toBe(recorded.frame_skip);
    expect(vec.maxEpisodeSteps).toBe(recorded.limit);
    for (const name of ["body_mass", "body_inertia", "dof_damping", "jnt_range"] as const)
      expect([name, ...model[name]]).toEqual([name, ...recorded[name].map((x) => expect.closeTo(x, 9))]);
  });

  test("has rewards that differ", () => {
    const rewards = recorded.steps.map((s) => s.reward);
    expect(Math.max(...rewards) - Math.min(...rewards)).toBeGreaterThan(0.01);
  });

  // other tasks of the same model, and the largest in JavaScript, are stepped in `npm run test:full`
  const full = process.env.CORRAL_FULL !== undefined;
  const steps = full || !/swimmer15|humanoid-(stand|run)/.test(task);
  const devices = full || !task.startsWith("humanoid") ? (["cpu-f64", "wasm"] as const) : (["wasm"] as const);
  const isChain = /^(swimmer|humanoid|manipulator)/.test(task);
  test.runIf(steps).each(devices)("steps, observes and rewards as dm_control does, on %s", async (device) => {
    const worst = await replayed(recorded, device);
    const chains = device === "wasm" ? envBounds.dmControlChains : envBounds.qvel64;
    for (const [name, error] of Object.entries(worst)) {
      const { value } = isChain && name !== "reward" ? chains : envBounds.dmControl;
      expect(error, name).toBeLessThan(value);
    }
  });
});

test("a manipulator starts with nothing that touches, its ball anywhere, in the hand or at the target", async () => {
  const numEnvs = 256;
  await using env = await makeVec("dm-manipulator-bring_ball", { numEnvs, device: "wasm", recorder: false });
  const { observations } = await env.reset({ seed: 1 });
  const { qpos } = await env.getState(["qpos"]);
  const { nq } = env.model;
  const places = Array.from({ length: numEnvs }, (_, w) => observations.slice(44 * w, 44 * (w + 1)));
  const touching = await withMuJoCo(env.model, (oracle) =>
    places.map((_, w) => {
      oracle.write("qpos", qpos.slice(w * nq, (w + 1) * nq));
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      return oracle.contacts().length;
    }),
  );
  expect(touching.filter((n) => n > 0).length).toBeLessThanOrEqual(1);
  // hand_pos is at 29, object_pos at 33, target_pos at 40
  const away = (o: ArrayLike<number>, from: number) => Math.hypot(o[33] - o[from], o[34] - o[from + 1]);
  const atTarget = places.filter((o) => away(o, 40) < 1e-6).length;
  const inHand = places.filter((o) => Math.abs(away(o, 29) - 0.065) < 1e-5).length;
  for (const count of [atTarget, inHand]) {
    expect(count).toBeGreaterThan(5);
    expect(count).toBeLessThan(50);
  }
});
