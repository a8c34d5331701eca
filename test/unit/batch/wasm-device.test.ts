// the device "wasm": the bits of JavaScript in float32, whatever is asked of a batch
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../../envs/index.ts";
import { createSimulation } from "../../../src/batch/simulation.ts";
import { replay, type ReplayReport } from "../../../src/crash/replay.ts";
import { defineTask, makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { corral } from "../../support/cli.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { readBundle } from "../../../src/record/read-bundle.ts";

const full = process.env.CORRAL_FULL !== undefined;
const MUJOCO = ["HalfCheetah", "Ant", "Humanoid", "HumanoidStandup", "Walker2d", "Swimmer", "Reacher", "Pusher"]
  .concat("InvertedPendulum", "InvertedDoublePendulum")
  .map((name) => `${name}-v5`);
const IDS = ["CartPole", "Hopper-v5", "QuadrupedVelocity", ...(full ? [...MUJOCO, "PickAndPlace", "ArmTable"] : [])];
const STEPS = full ? 100 : 8;

const folder = mkdtempSync(join(tmpdir(), "corral-wasm-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Options = Parameters<typeof makeVec>[1];
const onBoth = (id: string, options: Options): Promise<VectorEnv[]> =>
  Promise.all((["wasm", "cpu"] as const).map((device) => makeVec(id, { recorder: false, ...options, device })));

/** What some steps return. */
async function run(env: VectorEnv, steps: number, from = 0): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let t = from; t < from + steps; t++) {
    const { observations, rewards, terminated, truncated, infos } = await env.step(
      env.actionSpace.sample(5, { draw: t }),
    );
    const status = Array.from({ length: env.numEnvs }, (_, world) => infos.status(world));
    seen.push([observations, rewards, terminated, truncated, status].map((x) => [...x]));
  }
  return seen;
}

test.each(IDS)("%s takes the steps of JavaScript, in batches that fill no vector", async (id) => {
  const shapes = [{ numEnvs: 5 }, { numEnvs: 19, shards: 2, autoreset: "same-step", maxEpisodeSteps: 3 }] as const;
  for (const shape of shapes) {
    const [wasm, js] = await onBoth(id, shape);
    expect([...(await wasm.reset({ seed: 3 })).observations]).toEqual([...(await js.reset({ seed: 3 })).observations]);
    expect(await run(wasm, STEPS)).toEqual(await run(js, STEPS));
    await Promise.all([wasm.close(), js.close()]);
  }
});

test("snapshots, forks and states go from one to the other", async () => {
  const [wasm, js] = await onBoth("Hopper-v5", { numEnvs: 6 });
  await wasm.reset({ seed: 1 });
  await run(wasm, 3);
  const snapshot = await wasm.snapshot();
  const wanted = await run(wasm, 3, 3);
  await js.restore(snapshot);
  expect(await run(js, 3, 3)).toEqual(wanted);
  await wasm.restore(snapshot);
  expect(await run(wasm, 3, 3)).toEqual(wanted);
  for (const env of [wasm, js]) await env.setState({ qpos: [0.125, 1.25, 0, 0, 0, 0] }, [4]);
  expect(await wasm.getState(["qpos", "qvel"])).toEqual(await js.getState(["qpos", "qvel"]));
  await Promise.all([wasm.close(), js.close()]);
  await expect(wasm.step(new Float32Array(18))).rejects.toThrow("[closed]");
});

/** A task that fails when it is fast, and the bundle of it. */
const FAST = defineTask({
  id: "Fast",
  model: `<mujoco><worldbody><body><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
    </worldbody><actuator><motor joint="rail" gear="50"/></actuator></mujoco>`,
  frameSkip: 2,
  maxEpisodeSteps: 50,
  observe: { q: "qpos", root: "sqrt(0.5 - qpos[0])" },
  reward: { v: "qvel[0]" },
  terminated: {},
});

async function bundleOf(device: "wasm" | "gpu"): Promise<string> {
  const directory = join(folder, device);
  await using env = await makeVec(FAST, { numEnvs: 5, device, recorder: { directory } });
  await env.reset({ seed: 2 });
  for (let t = 0; t < 50 && env.health().bundles.length === 0; t++) await env.step(Float32Array.of(0, 0.2, 1, 0, -1));
  return env.health().bundles[0];
}

test("a bundle that it wrote is executed again, by JavaScript too, to the same bits", async () => {
  const bundle = readBundle(await bundleOf("wasm"));
  const reports = await Promise.all(
    ([{}, { device: "wasm" }, { device: "cpu" }] as const).map((o) => replay(bundle, o)),
  );
  const { name } = bundle.about.device;
  expect(name).toBe("wasm (WebAssembly SIMD)");
  expect(reports.map(({ identical, device }) => ({ identical, device }))).toEqual([
    { identical: true, device: name },
    { identical: true, device: name },
    { identical: true, device: "cpu (JavaScript f32)" },
  ]);
  expect(reports[0].differences).toEqual([]);
  expect((await replay(bundle, { device: "cpu-f64" })).identical).toBe(false);
  await expect(replay(bundle, { device: "gpu" })).rejects.toMatchObject({ code: "bad-option" });
});

test("a bundle of an adapter is executed beside it, and alone where it is asked for", async () => {
  const path = await bundleOf("gpu");
  const { code, stdout } = await corralInside(["replay", path, "--json"]);
  const { replay: own, wasm } = JSON.parse(stdout) as { replay: ReplayReport; wasm: ReplayReport };
  expect(code).toBe(0);
  expect(own.identical).toBe(true);
  expect(wasm).toMatchObject({ device: "wasm (WebAssembly SIMD)", steps: own.steps });
  // float32 in another order, or in the same
  for (const apart of Object.values(wasm.drift)) expect(apart).toBeLessThan(1e-5);
  expect((await corralInside(["replay", path])).stdout).toMatch(/on wasm \(WebAssembly SIMD\)/);
  const alone = JSON.parse((await corralInside(["replay", path, "--device", "wasm", "--json"])).stdout) as typeof wasm;
  expect(alone).toMatchObject({ replay: { hash: wasm.hash }, wasm: null });
});

test("a bundle of an adapter needs none", async () => {
  const bundle = await bundleOf("gpu");
  const bare = {
    CORRAL_ADAPTER: "system",
    CORRAL_DEVICE: undefined,
    VK_DRIVER_FILES: "none",
    VK_ICD_FILENAMES: "none",
  };
  const { code, stdout, stderr } = await corral(["replay", bundle, "--bisect", "--json"], bare);
  expect([0, 1], stderr).toContain(code);
  const told = JSON.parse(stdout) as { replay: ReplayReport; bisect: object | null };
  expect(told.replay.device).toBe("wasm (WebAssembly SIMD)");
  expect(told.bisect).not.toBe(null);
});

test("simulations too, rolled and straight", async () => {
  const model = await loadModel(`<mujoco><worldbody><geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .3"><freejoint/><geom type="capsule" size=".05" fromto="0 0 0 .2 0 0"/></body>
    <body pos=".1 .02 .6"><freejoint/><geom size=".1"/></body></worldbody></mujoco>`);
  for (const unroll of [true, false]) {
    const states = await Promise.all(
      (["wasm", "cpu"] as const).map(async (device) => {
        await using sim = await createSimulation(model, { numEnvs: 3, device, unroll });
        await sim.setState({ qvel: [0.25, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0] }, [1]);
        sim.step(150);
        return sim.getState(["qpos", "qvel", "qacc_warmstart"]);
      }),
    );
    expect(states[0]).toEqual(states[1]);
  }
});

test("its memory is of the budget of the host", async () => {
  const given = { numEnvs: 4096, device: "wasm", recorder: false, budget: "1MiB", threads: 1 } as const;
  await expect(makeVec("Hopper-v5", given)).rejects.toThrow("[budget-exceeded]");
  await using env = await makeVec("Hopper-v5", { ...given, onOverBudget: "shrink" });
  expect(env.numEnvs).toBeGreaterThan(100);
  expect(env.numEnvs).toBeLessThan(4096);
});

test("steps that a kernel cannot count are refused", async () => {
  const model = await loadModel(`<mujoco><worldbody><body><joint/><geom size="0.1"/></body></worldbody></mujoco>`);
  await using simulation = await createSimulation(model, { numEnvs: 2, device: "wasm" });
  for (const nstep of [0, 1.5, 2 ** 31, 2 ** 32 + 1])
    expect(() => simulation.step(nstep)).toThrow("pass an integer from 1 to 2147483647");
  const { time } = await simulation.getState(["time"]);
  expect([...time]).toEqual([0, 0]);
});
