// numbers of a task that are not finite are told of, whatever is done to them afterwards
import { describe, expect, test } from "vitest";
import { defineTask, makeVec, type Scene, type VecOptions } from "../../../src/env/index.ts";
import { gt, sqrt, sub } from "../../../src/trace/scalar.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

/** Terms that are no number if the slider is at 3; the first of each pair is what the second ones do something to. */
const TERMS: Readonly<Record<string, string>> = {
  root: "sqrt(1 - qpos(joint.rail))",
  exp: "exp(-sqrt(1 - qpos(joint.rail)))",
  tanh: "tanh(sqrt(1 - qpos(joint.rail)))",
  sin: "sin(sqrt(1 - qpos(joint.rail)))",
  acos: "acos(sqrt(1 - qpos(joint.rail)))",
  least: "min(1, sqrt(1 - qpos(joint.rail)))",
  most: "max(sqrt(1 - qpos(joint.rail)), 1)",
  bounded: "clamp(sqrt(1 - qpos(joint.rail)), -1, 1)",
  saturated: "saturate(sqrt(1 - qpos(joint.rail)))",
  smooth: "smoothstep(0, 1, sqrt(1 - qpos(joint.rail)))",
  stepped: "step(0, sqrt(1 - qpos(joint.rail)))",
  rounded: "floor(sqrt(1 - qpos(joint.rail)))",
  log: "log(1 - qpos(joint.rail))",
  power: "pow(1 - qpos(joint.rail), 1.5)",
  pole: "1 / (qpos(joint.rail) - 3)",
};

const task = (changes: object = {}) =>
  defineTask({
    id: "Hidden",
    model: `<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="rail" type="slide" axis="1 0 0"/>
      <geom size=".1" mass="1"/></body></worldbody><actuator><motor joint="rail"/></actuator></mujoco>`,
    frameSkip: 1,
    maxEpisodeSteps: 100,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    terminated: {},
    ...changes,
  });

const still = new Float32Array(4);
const options = (device: string | undefined): VecOptions => ({
  numEnvs: 4,
  recorder: false,
  ...(device ? { device: device as "cpu" } : {}),
});

describe.each(["cpu", "cpu-f64", undefined])("on device %s", (device) => {
  test.each(["reward", "observe"] as const)("terms of %s, clipped or not", async (group) => {
    const clipped = Object.fromEntries(
      Object.entries(TERMS).map(([name, value]) => [`${name}_clipped`, { value, clip: [-1, 1] }]),
    );
    // what tells of terms holds 24
    for (const terms of [TERMS, clipped]) {
      await using env = await makeVec(task({ [group]: terms }), options(device));
      await env.reset();
      await env.step(still);
      expect(env.health().failures).toBe(0);
      await env.setState({ qpos: [3] }, [2]);
      const { rewards, observations, terminated } = await env.step(still);
      const { byStatus, byTerm } = env.health();
      expect(Object.keys(byStatus)).toEqual([group === "reward" ? "BAD_REWARD" : "BAD_OBS"]);
      expect(Object.keys(byTerm)).toEqual(Object.keys(terms));
      expect([...rewards, ...observations].every(Number.isFinite)).toBe(true);
      expect([...terminated]).toEqual([0, 0, 1, 0]);
    }
  });

  test("infos are told, and change nothing else", async () => {
    const info = { fine: "qpos(joint.rail)", root: TERMS.root };
    await using env = await makeVec(task({ reward: { at: "qpos(joint.rail)" }, info }), options(device));
    await env.reset();
    await env.setState({ qpos: [3] }, [2]);
    const { rewards, terminated, infos } = await env.step(still);
    expect(infos.worldsWithStatus().map((w) => [w, infos.statusNames(w)])).toEqual([[2, ["BAD_INFO"]]]);
    expect([...infos.get("root")!.values].map(Number.isNaN)).toEqual([false, false, true, false]);
    expect([rewards[2], ...terminated]).toEqual([3, 0, 0, 0, 0]);
    expect(Object.keys(env.health().byTerm)).toEqual(["root"]);
    expect(() => infos.get("rot")).toThrow('[unknown-name] the task reports no number named "rot"; nearest: root.');
    expect(() => infos.get("zzzzzz")).toThrow("there are: at, fine, root.");
  });

  const ROOT = "sqrt(1 - qpos(joint.rail))";

  test.each(["terminated", "truncated"] as const)(
    "a condition of %s that compares no number is told",
    async (group) => {
      const conditions = {
        far: `${ROOT} > 2`,
        either: `qpos(joint.rail) > 100 || !(${ROOT} < 2)`,
        written: (s: Scene) => gt(sqrt(sub(1, s.d.qpos.at(0))), 2),
        // decided without it
        guarded: `qpos(joint.rail) < 1 && ${ROOT} > 2`,
        open: `!(qpos(joint.rail) > 1 || ${ROOT} < 2)`,
        finite: `isfinite(${ROOT}) && ${ROOT} > 2`,
      };
      await using env = await makeVec(task({ [group]: conditions }), options(device));
      await env.reset();
      await env.step(still);
      expect(env.health().failures).toBe(0);
      await env.setState({ qpos: [3] }, [2]);
      const { terminated, infos } = await env.step(still);
      const { byStatus, byTerm } = env.health();
      expect(infos.statusNames(2)).toEqual(["BAD_CONDITION"]);
      expect(Object.keys(byStatus)).toEqual(["BAD_CONDITION"]);
      expect(Object.keys(byTerm)).toEqual(["far", "either", "written"]);
      expect([...terminated]).toEqual([0, 0, 1, 0]);
    },
  );

  test("a condition of trip that compares no number trips, and changes nothing else", async () => {
    const trip = [
      { name: "far", when: `${ROOT} > 2` },
      { name: "fast", when: "qvel(joint.rail) > 2" },
    ];
    await using env = await makeVec(task(), { ...options(device), trip });
    await env.reset();
    await env.setState({ qpos: [3] }, [2]);
    const { terminated } = await env.step(still);
    const { byStatus, byTerm } = env.health();
    expect([Object.keys(byStatus), Object.keys(byTerm), ...terminated]).toEqual([["far"], ["far"], 0, 0, 0, 0]);
  });

  test("a number that such a condition decides is not finite", async () => {
    const given = task({
      reward: { choice: `${ROOT} > 2 ? 1 : 0`, guarded: `qpos(joint.rail) < 1 ? ${ROOT} : 0` },
      observe: { qpos: "qpos", choice: `${ROOT} > 2 ? 1 : 0` },
      info: { near: `${ROOT} > 2` },
    });
    await using env = await makeVec(given, options(device));
    await env.reset();
    await env.setState({ qpos: [3] }, [2]);
    await env.step(still);
    const { byStatus, byTerm } = env.health();
    expect(Object.keys(byStatus)).toEqual(["BAD_REWARD", "BAD_OBS", "BAD_INFO"]);
    expect(Object.keys(byTerm)).toEqual(["choice", "near"]);
  });

  test("a bad observation does not spoil what normalises the next ones", async () => {
    const observe = { root: "sqrt(1 - qpos(joint.rail))", huge: "square(square(qpos(joint.rail)))" };
    await using env = await makeVec(task({ observe }), { ...options(device), observation: { normalize: true } });
    await env.reset();
    await env.step(still);
    await env.setState({ qpos: [3, 1e7] }, [1, 2]);
    await env.step(still);
    const { failures } = env.health();
    expect(failures).toBeGreaterThan(0);
    // resets, then goes on
    for (let t = 0; t < 4; t++) await env.step(still);
    expect(env.health().failures).toBe(failures);
    expect([...env.observations].every(Number.isFinite)).toBe(true);
  });
});

test("an action that is no number, written by a kernel, is told of where it is clipped or goes into a bounded control", async () => {
  const tasks = [
    [task(), { action: { clip: [-1, 1] } }],
    [task({ control: "clamp(action, -1, 1)" }), {}],
  ] as const;
  for (const [given, more] of tasks) {
    await using env = await makeVec(given, { ...options(undefined), ...more } as VecOptions);
    await env.reset();
    await env.step(still);
    const { actions } = env.gpu!;
    const { device } = env.gpu!.device;
    device.queue.writeBuffer(actions.shards[0].buffer, actions.offset + actions.stride * 3, Float32Array.of(NaN));
    const { terminated } = await env.step(actions);
    expect([...terminated]).toEqual([0, 0, 0, 1]);
    expect(env.health().byStatus.BAD_CTRL).toMatchObject({ count: 1, ids: [3] });
  }
});

describe.each(["next-step", "same-step", "disabled"] as const)("a start that cannot be observed, %s", (autoreset) => {
  const gone = {
    params: { goal: 1 },
    maxEpisodeSteps: 2,
    // of the start alone
    observe: { qpos: "qpos", missing: "1 / (param.goal + (time > 0 ? 1 : 0))" },
  };

  test.each(["cpu", undefined])("is void, told and nobody else's, on %s", async (device) => {
    await using env = await makeVec(task(gone), { ...options(device), autoreset });
    await env.reset({ seed: 1 });
    await env.setParams({ goal: 0 }, [2]);
    for (let t = 0; t < 2; t++) await env.step(still);
    const { observations, infos } =
      autoreset === "disabled" ? await env.reset() : autoreset === "same-step" ? env : await env.step(still);
    expect([...observations]).toEqual([0, 1, 0, 1, 0, 0, 0, 1]);
    expect([0, 1, 2, 3].map((world) => infos.statusNames(world))).toEqual([[], [], ["BAD_OBS"], []]);
    const { failures, byTerm } = env.health();
    expect({ failures, ids: byTerm.missing.ids }).toEqual({ failures: 1, ids: [2] });
    // the episode goes on
    const next = await env.step(still);
    expect([...next.observations]).toEqual([0, 0.5, 0, 0.5, 0, 1, 0, 0.5]);
    expect(env.health().failures).toBe(1);
  });
});

test("a start that cannot be observed throws where failures are to, and stays where they are ignored", async () => {
  const gone = task({ params: { zero: 0 }, observe: { missing: "1 / param.zero" } });
  await using strict = await makeVec(gone, { ...options("cpu"), onNonFinite: "throw" });
  await expect(strict.reset()).rejects.toThrow(/^\[non-finite\] world 0 .* and 3 more worlds .*BAD_OBS/);
  await using lax = await makeVec(gone, { ...options("cpu"), onNonFinite: "ignore" });
  expect([...(await lax.reset()).observations]).toEqual([Infinity, Infinity, Infinity, Infinity]);
  expect(lax.health().failures).toBe(4);
});

test("terms as long as 20,000 operators are evaluated", async () => {
  const all = (make: (i: number) => string, between: string) =>
    Array.from({ length: 20_000 }, (_, i) => make(i)).join(between);
  const long = task({
    reward: { sum: all(() => "qpos[0]", " + "), choice: `${all((i) => `qpos[0] > ${20_000 - i} ? ${i}`, " : ")} : 7` },
    terminated: { never: all((i) => `qpos[0] > ${i}`, " && ") },
  });
  await using env = await makeVec(long, options("cpu"));
  await env.reset();
  await env.setState({ qpos: [0.5] }, [2]);
  const { rewards, terminated } = await env.step(still);
  expect([...rewards, ...terminated]).toEqual([7, 7, 10_007, 7, 0, 0, 0, 0]);
});
