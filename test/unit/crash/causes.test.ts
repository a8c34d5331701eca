// why worlds broke: crashes of many kinds in small models, and what is said of each. On the CPU.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defineTask, makeVec, type Task, type VectorEnv } from "../../../src/env/index.ts";
import { bisect } from "../../../src/crash/bisect.ts";
import { replay } from "../../../src/crash/replay.ts";
import { crashScene } from "../../../src/crash/scene.ts";
import { secondOpinion } from "../../../src/crash/second-opinion.ts";
import { readBundle } from "../../../src/record/read-bundle.ts";
import { and, eq, select, type Scalar } from "../../../src/trace/scalar.ts";
import { codeOf } from "../../support/lives.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-causes-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const OURS = 3;
const PLANTED = 5;
const once = (s: { length: Scalar; world: Scalar }, value: number): Scalar =>
  select(and(eq(s.length, PLANTED - 1), eq(s.world, OURS)), value, 0, "f32");

const task = (xml: string, more: Partial<Task<object>> = {}): Task<object> =>
  defineTask({
    id: "Planted",
    model: `<mujoco>${xml}</mujoco>`,
    frameSkip: 4,
    maxEpisodeSteps: 1000,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    terminated: {},
    ...more,
  });
const rod = (joint: string, actuator: string, more = "") =>
  `<worldbody><body name="rod"><joint name="hinge" axis="0 1 0" ${joint}/>
   <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>${more}</body></worldbody><actuator>${actuator}</actuator>`;
const MOTOR = '<motor name="m" joint="hinge"/>';
const ARM = `<body pos=".3 0 0"><joint name="elbow" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>`;
const FREE = `<worldbody><geom name="floor" type="plane" size="5 5 .1"/><body name="crate" pos="0 0 10"><freejoint name="free"/>
  <geom name="box" type="box" size=".1 .1 .1" mass="1"/><body><joint name="lid" axis="0 1 0"/>
  <geom type="capsule" size=".01" fromto="0 0 .1 .1 0 .1"/></body></body></worldbody><actuator><motor joint="lid"/></actuator>`;
const forced = (force: number): Partial<Task<object>> => ({
  events: {
    gust: (s) => ({ xfrc_applied: [...Array<number>(6).fill(0), once(s, force), ...Array<number>(11).fill(0)] }),
  },
});

interface Plant {
  readonly name: string;
  readonly task: Task<object>;
  readonly plant?: (env: VectorEnv) => void | Promise<void>;
  /** Of our world, from the planted step on. */
  readonly action?: number;
  readonly cause: string;
  readonly stage: RegExp;
  readonly verdict: string;
  /** What is told of the cause. */
  readonly text?: RegExp;
}

const PLANTS: readonly Plant[] = [
  {
    name: "negative damping",
    task: task(rod('damping="-5"', MOTOR)),
    action: 0.5,
    cause: "negative-damping",
    stage: /acceleration|integrate|passive|rne/,
    verdict: "physics",
  },
  {
    name: "a servo that is too stiff",
    task: task(rod("", '<position name="servo" joint="hinge" kp="1e9"/>')),
    action: 0.5,
    cause: "timestep-stiffness",
    stage: /actuation|acceleration/,
    verdict: "physics",
  },
  {
    name: "a gear of 1e12",
    task: task(rod("", '<motor name="m" joint="hinge" gear="1e12"/>')),
    action: 0.5,
    cause: "actuator-force",
    stage: /actuation/,
    verdict: "physics",
  },
  {
    name: "a control of 1e30",
    task: task(rod("", MOTOR)),
    action: 1e30,
    cause: "action-too-large",
    stage: /action/,
    verdict: "input",
  },
  {
    name: "an equality that is too stiff",
    task: task(
      `<option gravity="0 0 0"/>${rod("", MOTOR, ARM)}<equality><joint name="lock" joint1="elbow" solref="-1e9 -1"/></equality>`,
    ),
    plant: (env) => env.setState({ qpos: [0, 0.3] }, [OURS]),
    cause: "constraint-stiffness",
    stage: /rne|solver|acceleration/,
    verdict: "physics",
  },
  {
    name: "a tendon of no length",
    task: task(
      `<worldbody><site name="a" pos="0 0 1"/><body name="b" pos="0 0 1"><joint name="s" type="slide" axis="0 0 1"/>
       <geom size=".05" mass=".1"/><site name="c"/></body></worldbody><tendon><spatial name="t" stiffness="1e7">
       <site site="a"/><site site="c"/></spatial></tendon><actuator><motor joint="s"/></actuator>`,
    ),
    plant: (env) => env.setState({ qvel: [1] }, [OURS]),
    cause: "timestep-stiffness",
    stage: /tendon|passive|acceleration|integrate/,
    verdict: "physics",
  },
  {
    name: "a fall from far away",
    task: task(FREE),
    plant: (env) => env.setState({ qpos: [0, 0, 3e5, 1, 0, 0, 0, 0], qvel: [0, 0, -3e7, 0, 0, 0, 0] }, [OURS]),
    cause: "timestep-too-large",
    stage: /solver|rne|acceleration/,
    verdict: "physics",
  },
  {
    name: "a blow of an event",
    task: task(rod("", MOTOR, ARM), { events: { blow: (s) => ({ qvel: [once(s, 1e8), 0] }) } }),
    cause: "event-blow",
    stage: /rne/,
    verdict: "physics",
  },
  {
    name: "a force that acts some steps before",
    task: task(FREE, forced(9e9)),
    cause: "external-force",
    stage: /rne|solver|acceleration|crb|factor_m|com_vel/,
    verdict: "",
  },
  {
    name: "a fluid as dense as a star",
    task: task(`<option density="1e15"/>${FREE}`),
    plant: (env) => env.setState({ qvel: [5, 0, 0, 0, 1, 0, 0] }, [OURS]),
    cause: "fluid-force",
    stage: /passive|acceleration/,
    verdict: "physics",
  },
  {
    name: "a gravity of 1e12",
    task: task(rod("", MOTOR)),
    plant: (env) => env.setOptions({ gravity: [0, 0, -1e12] }),
    cause: "gravity",
    stage: /acceleration|rne/,
    verdict: "physics",
  },
  {
    name: "forces too large for the time step",
    task: task(
      `<option timestep=".1" gravity="0 0 0" integrator="RK4"/>${rod("", '<motor name="m" joint="hinge" gear="100"/>', ARM)}`,
    ),
    action: 0.5,
    cause: "timestep-too-large",
    stage: /acceleration|rne/,
    verdict: "physics",
    text: /joint "\w+" accelerates so that it turns \d+(\.\d+)? rad in one physics step/,
  },
  {
    name: "the logarithm of a negative number",
    task: task(rod("", MOTOR), { observe: { log: "log(1 - qpos(joint.hinge))" } }),
    plant: (env) => env.setState({ qpos: [2] }, [OURS]),
    cause: "out-of-domain",
    stage: /task/,
    verdict: "task",
    text: /"log" takes a logarithm or a power of -1\.\d+, which has none/,
  },
  {
    name: "a root by pow of a negative number",
    task: task(rod("", MOTOR), { reward: { root: "pow(1 - qpos(joint.hinge), 0.5)" } }),
    plant: (env) => env.setState({ qpos: [2] }, [OURS]),
    cause: "out-of-domain",
    stage: /task/,
    verdict: "task",
    text: /"root" takes a logarithm or a power of -1\.\d+, which has none/,
  },
  {
    name: "an exponential beyond float32",
    task: task(rod("", MOTOR), { reward: { steep: "exp(60 * qpos(joint.hinge))" } }),
    plant: (env) => env.setState({ qpos: [2] }, [OURS]),
    cause: "task-overflow",
    stage: /task/,
    verdict: "task",
    text: /"steep" computes exp of \w+ = 1[12]\d(\.\d+)?; state/,
  },
  {
    name: "a power beyond float32",
    task: task(rod("", MOTOR), { reward: { steep: "pow(30 + qpos(joint.hinge), 33.5)" } }),
    plant: (env) => env.setState({ qpos: [2] }, [OURS]),
    cause: "task-overflow",
    stage: /task/,
    verdict: "task",
    text: /"steep" computes exp of \w+ = 11\d(\.\d+)?; state/,
  },
  {
    name: "a sum of rewards, each of them finite",
    task: task(rod("", MOTOR), { reward: { up: "1.5e38 * qpos(joint.hinge)", on: "1.4e38 * qpos(joint.hinge)" } }),
    plant: (env) => env.setState({ qpos: [1.6] }, [OURS]),
    cause: "reward-overflow",
    stage: /task/,
    verdict: "task",
    text: /the sum of the reward's terms "up", "on" is \d\.\d+e\+38 \+ \d\.\d+e\+38, beyond/,
  },
  {
    name: "an observation that its normaliser divides by next to nothing",
    task: task(rod("", MOTOR), {
      observe: { near: "3e36 * qpos(joint.hinge)", qvel: "qvel" },
      observation: { normalize: true },
    }),
    plant: (env) => env.setState({ qpos: [50] }, [OURS]),
    cause: "task-overflow",
    stage: /task/,
    verdict: "task",
    text: /observation "near" computes div of sub = \d\.\d+e\+34, sqrt = 0\.0001/,
  },
  {
    name: "a mass that is drawn by the logarithm of a negative number",
    task: task(rod("", MOTOR), {
      params: { p: 1 },
      randomise: { m: { field: "body_mass", of: "rod", set: { value: "1 + log(param.p)", within: [0.5, 2] } } },
    }),
    plant: async (env) => {
      await env.reset({ options: { params: { p: -1 }, mask: env.worldIds.map((w) => w === OURS) } });
    },
    cause: "drawn-not-finite",
    stage: /load episode/,
    verdict: "physics",
    text: /body_mass\[1\] \(body "rod"\) is NaN: what the episode draws of it/,
  },
  {
    name: "an observation by 0, behind a normaliser and its clip",
    task: task(rod("", MOTOR), {
      observe: { near: "1 / max(0, 1 - qpos(joint.hinge))", qvel: "qvel" },
      observation: { normalize: true, clip: [-10, 10] },
    }),
    plant: (env) => env.setState({ qpos: [3] }, [OURS]),
    cause: "division-by-zero",
    stage: /task/,
    verdict: "task",
    text: /observation "near" divides 1 by 0/,
  },
];

describe.each(PLANTS)("$name", ({ task: given, plant, action, cause, stage, verdict, text }) => {
  test("is told", async () => {
    await using env = await makeVec(given, { numEnvs: 6, seed: 1, device: "cpu", recorder: { directory } });
    await env.reset();
    const actions = new Float32Array(env.actionSpace.size);
    for (let t = 1; t <= 24 && env.health().bundles.length === 0; t++) {
      if (t === PLANTED) await plant?.(env);
      if (t === PLANTED && action !== undefined) actions[OURS] = action;
      await env.step(actions);
    }
    const bundle = readBundle(env.health().bundles[0]);
    expect(await replay(bundle)).toMatchObject({ identical: true });
    const found = await bisect(bundle);
    expect(found.blame?.stage).toMatch(stage);
    expect(found.agrees).toBe(true);
    expect(found.causes.map(({ name }) => name)).toContain(cause);
    expect(found.causes[0].name).not.toBe("unknown");
    expect(found.deviceOnly).toBe(false);
    if (text) expect(found.causes.map((c) => c.text)).toContainEqual(expect.stringMatching(text));
    if (verdict !== "") expect(await secondOpinion(await crashScene(bundle), found)).toMatchObject({ verdict });
  });
});

test("what the device alone makes not finite is said to be so", async () => {
  // negative in float64, 0 in float32: float64 stands for a device that rounds in another way than what is interpreted
  const given = task(rod("", MOTOR), { observe: { near: "sqrt(1 - (1 + 1e-9 * max(0, qpos)))" } });
  await using env = await makeVec(given, {
    numEnvs: 6,
    seed: 1,
    device: "cpu",
    recorder: { directory },
    trip: [{ name: "high", when: "qpos(joint.hinge) > 1" }],
  });
  await env.reset();
  for (let t = 1; t <= 8 && env.health().bundles.length === 0; t++) {
    if (t === PLANTED) await env.setState({ qpos: [2] }, [OURS]);
    await env.step(new Float32Array(env.actionSpace.size));
  }
  const bundle = readBundle(env.health().bundles[0]);
  expect(await bisect(bundle)).toMatchObject({ deviceOnly: false, agrees: true });
  const found = await bisect(bundle, { device: "cpu-f64" });
  expect(found).toMatchObject({ deviceOnly: true, agrees: false, blame: undefined });
  expect(found.causes[0]).toMatchObject({ name: "device-only", certainty: "certain" });
  expect(found.causes[0].text).toMatch(/only the device fails in control step 5: BAD_OBS/);
});

test("masses that float32 may make nothing of are refused", async () => {
  const drawn = (how: object) =>
    makeVec(task(rod("", MOTOR), { randomise: { weight: { field: "body_mass", of: "rod", ...how } } }), {
      numEnvs: 2,
      device: "cpu",
      recorder: false,
    }).then(async (env) => {
      await env.close();
      return "made";
    }, codeOf);
  // three deviations below are 1e-16 in float64, and -6e-8 in float32
  expect(await drawn({ set: { normal: [0.9, 0.3] } })).toBe("bad-randomise");
  expect(await drawn({ set: { normal: [0.9, 0.29] } })).toBe("made");
  expect(await drawn({ set: [1e-9, 1] })).toBe("made");
  expect(await drawn({ scale: { logUniform: [1e-12, 1] } })).toBe("made");
});
