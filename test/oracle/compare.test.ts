// corral's comparison with MuJoCo: what it measures, what it excuses, what it does not
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { distance, ONE_STEP_BOUNDS, SENSITIVITY_MARGIN, spreadOf } from "../../src/monitor/measure.ts";
import { MuJoCoWorld, type StepResult } from "../../src/monitor/mujoco-world.ts";
import { documentedIn } from "../../src/compare/documented.ts";
import type { Compared } from "../../src/compare/one-step.ts";
import { quantitiesOf } from "../../src/compare/quantities.ts";
import { sensitivityOf } from "../../src/compare/sensitivity.ts";
import { startState, trajectory, type Divergence, type Sample } from "../../src/compare/trajectory.ts";
import { Judge } from "../../src/compare/verdict.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { loadTestModel } from "../support/mjcf.ts";
import { createStiffMjcf } from "../support/random-stiff-mjcf.ts";
import { softwareAdapters } from "../support/software-adapters.ts";

const adapters = await softwareAdapters();

describe("measure", () => {
  test("distance is relative to the largest number, absolute near zero", () => {
    expect(distance([1, 2, 3], [1, 2, 3])).toBe(0);
    expect(distance([0, 0.5], [0, 0])).toBe(0.5);
    expect(distance([9, 110], [9, 99])).toBeCloseTo(0.11, 12);
    expect(distance([7, 1, 2], [1, 2], 1)).toBe(0);
    expect(distance([], [])).toBe(0);
    expect(distance([Number.NaN], [0])).toBe(Infinity);
    expect(distance([Infinity], [Infinity])).toBe(Infinity);
  });

  test("percentiles are values that occur", () => {
    const values = Array.from({ length: 1000 }, (_, i) => 1000 - i);
    expect(spreadOf(values)).toEqual({ median: 500, p99: 990, max: 1000 });
    expect(spreadOf([3])).toEqual({ median: 3, p99: 3, max: 3 });
    expect(spreadOf([])).toEqual({ median: 0, p99: 0, max: 0 });
  });
});

describe("trajectories", () => {
  test("start states are valid, of the seed, and from every keyframe in turn", async () => {
    const model = await loadModel(`
      <mujoco>
        <worldbody>
          <body><freejoint/><geom size="0.1"/></body>
          <body pos="0 0 1"><joint type="ball"/><geom size="0.1" pos="0.3 0 0"/></body>
          <body pos="1 0 0"><joint axis="0 1 0" range="-1 1" limited="true"/><geom size="0.1" pos="0.3 0 0"/></body>
        </worldbody>
        <keyframe><key qpos="0 0 5 1 0 0 0 1 0 0 0 1"/></keyframe>
      </mujoco>`);
    const states = Array.from({ length: 50 }, (_, env) => startState(model, 1, env));
    for (const [env, { qpos }] of states.entries()) {
      expect(Math.hypot(...qpos.subarray(3, 7))).toBeCloseTo(1, 12);
      expect(Math.hypot(...qpos.subarray(7, 11))).toBeCloseTo(1, 12);
      expect(Math.abs(qpos[11])).toBeLessThanOrEqual(1);
      expect(qpos[2] > 4).toBe(env % 2 === 1);
    }
    expect(startState(model, 1, 3)).toEqual(states[3]);
    expect(startState(model, 2, 3)).not.toEqual(states[3]);
    expect(startState(model, 1, 3, 1)).not.toEqual(states[3]);
  });

  test("each sample repeats in MuJoCo to the bit, and follows the one before", async () => {
    const model = await loadTestModel("envs/hopper");
    const world = await MuJoCoWorld.create(model);
    const samples = [...trajectory(model, world, { steps: 30, envs: 2, seed: 5 })];
    expect(samples).toHaveLength(60);
    expect(world.step(samples[17].from)).toEqual(samples[17].result);
    expect(samples[18].from.qpos).toEqual(samples[17].result.qpos);
    expect(samples[30]).toMatchObject({ env: 1, step: 0 });
    world.delete();
  });
});

describe("worlds that MuJoCo loses", () => {
  // pulled apart ever faster
  const slide = (stiffness: number) =>
    loadModel(`<mujoco><option timestep="0.01"/><worldbody><body><joint type="slide" stiffness="${stiffness}"/>
      <geom size="0.1" mass="1"/></body></worldbody></mujoco>`);

  async function stepsOf(model: Model, steps: number) {
    const world = await MuJoCoWorld.create(model);
    const diverged: Divergence[] = [];
    const samples = [...trajectory(model, world, { steps, envs: 2, seed: 1, onDivergence: (d) => diverged.push(d) })];
    world.delete();
    return { samples, diverged, left: diverged.reduce((sum, d) => sum + d.left, 0) };
  }
  const speed = ({ from }: Sample) => Math.abs(from.qvel[0]);

  test("are compared until they run away, also where the last steps are asked for", async () => {
    const { samples, diverged, left } = await stepsOf(await slide(-1e6), 12);
    expect(diverged.length).toBeGreaterThan(1);
    expect(left).toBeGreaterThan(0);
    expect(samples.length + left).toBe(24);
    expect(samples.length).toBeGreaterThan(0);
    expect(Math.max(...samples.map(speed))).toBeLessThanOrEqual(100);
  });

  test("a world that is fast and stays is compared", async () => {
    const model = await loadModel(`<mujoco><option gravity="0 0 -1e6" timestep="0.001"/><worldbody><body>
      <joint type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>`);
    const { samples, diverged } = await stepsOf(model, 20);
    expect(diverged).toEqual([]);
    expect(samples).toHaveLength(40);
    expect(Math.max(...samples.map(speed))).toBeGreaterThan(1000);
  });
});

describe("judgement", () => {
  let model: Model;
  let world: MuJoCoWorld;
  let judge: Judge;
  beforeAll(async () => {
    // a ball 1 m above the floor, falling freely
    model = await loadModel(`
      <mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 1"><freejoint/><geom size="0.1"/><site name="s"/></body></worldbody>
      <sensor><framepos name="place" objtype="site" objname="s"/><accelerometer name="imu" site="s"/></sensor></mujoco>`);
    world = await MuJoCoWorld.create(model);
  });
  beforeEach(async () => {
    judge = await Judge.create(model, world);
  });
  afterAll(() => world.delete());

  /** A sample whose ball is at a height over the floor. */
  function ballAt(gap: number): Sample {
    const start = startState(model, 0, 0);
    const from = { ...start, qpos: Float64Array.of(0, 0, 0.1 + gap, 1, 0, 0, 0), qvel: new Float64Array(6) };
    return { env: 0, step: 0, episode: 0, from, result: world.step(from) };
  }

  /** The sample's own result, a number of a field of it off by so much in the measure of distance. */
  function off({ result }: Sample, errors: Partial<Record<Compared, number>>, at = 0): StepResult {
    const moved = Object.entries(errors).map(([name, error]) => {
      const values = result[name as Compared].slice();
      const size = 1 + Math.max(name === "qacc" ? result.wanted : 0, ...values.map(Math.abs));
      values[at] += error * size;
      return [name, values];
    });
    return { ...result, ...Object.fromEntries(moved) };
  }

  test("errors within the bounds pass, larger ones that MuJoCo does not share fail", () => {
    const sample = ballAt(1);
    judge.add(sample, off(sample, { qpos: 0.99 * ONE_STEP_BOUNDS.qposMax, qvel: 0.99 * ONE_STEP_BOUNDS.qvelP99 }));
    expect(judge.verdict({})).toMatchObject({ passed: true, beyond: 0 });
    judge.add(sample, off(sample, { qpos: 2e-5 }));
    expect(judge.verdict({})).toMatchObject({
      passed: false,
      beyond: 1,
      explained: 0,
      reasons: ["qpos is off by 2.00e-5, bound 0.00001"],
      worst: [{ field: "qpos", because: null, leftover: 0, niter: { corral: 0, mujoco: 0 }, float64: null }],
    });
  });

  test("accelerations and each sensor, by the stage it reads, are judged too", () => {
    const sample = ballAt(1);
    judge.add(sample, off(sample, { qacc: 2e-3 }, 2));
    judge.add(sample, off(sample, { sensordata: 2e-5 }, 2));
    judge.add(sample, off(sample, { sensordata: 0.02 }, 3));
    const { reasons, worst } = judge.verdict({});
    expect(reasons.filter((r) => r.includes("bound"))).toEqual([
      expect.stringMatching(/^qacc is off by 2.00e-3, bound 0.001$/),
      expect.stringMatching(/^sensor "place" is off by .*, bound 0.00001$/),
      expect.stringMatching(/^sensor "imu" is off by .*, bound 0.01$/),
    ]);
    expect(worst.map(({ field }) => field).sort()).toEqual(["qacc", 'sensor "imu"', 'sensor "place"']);
  });

  test("velocities may be off by the smaller bound in one of a hundred steps", () => {
    const sample = ballAt(1);
    for (let i = 0; i < 99; i++) judge.add(sample, sample.result);
    judge.add(sample, off(sample, { qvel: 5e-4 }));
    expect(judge.verdict({}).passed).toBe(true);
    judge.add(sample, off(sample, { qvel: 5e-4 }));
    expect(judge.verdict({}).reasons).toEqual(["qvel is off by more than 0.0001 in 2 of 101 steps, more than 1 %"]);
  });

  test("a contact may be there or not within 1e-6 of touching, and nowhere else", async () => {
    for (const [gap, touches] of [
      [5e-7, true],
      [-5e-7, true],
      [1e-5, false],
      [-1e-5, false],
    ] as const) {
      const sample = ballAt(gap);
      const has = sample.result.ncon;
      expect(has).toBe(gap < 0 ? 1 : 0);
      const other = await Judge.create(model, world);
      other.add(sample, { ...sample.result, ncon: 1 - has, nefc: has === 1 ? 0 : 4 });
      expect(other.contacts).toMatchObject({ equal: 0, touching: touches ? 1 : 0, total: 1 });
      expect(other.rows).toMatchObject({ equal: 0, touching: touches ? 1 : 0, total: 1 });
      expect(other.verdict({}).passed).toBe(touches);
    }
  });

  test("also on the floor of a model in which faces may meet", async () => {
    // the drum turns on its floor; between it and the box a margin would change the rule of their contacts
    const faces = await loadModel(`
      <mujoco><worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 0.5000005"><joint axis="0 0 1"/><geom type="cylinder" size="0.1 0.5"/></body>
        <body pos="1 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>`);
    const room = await MuJoCoWorld.create(faces);
    try {
      const from = startState(faces, 0, 0);
      const result = room.step(from);
      const range = sensitivityOf(room, { from, result }, quantitiesOf(faces)).ncon;
      expect([result.ncon, range]).toEqual([0, [0, 3]]);
      expect(room.step(from)).toEqual(result);
    } finally {
      room.delete();
    }
  });

  test("also between boxes and drums that may meet a mesh", async () => {
    // the drawer's runners slide on those of its cupboard; a margin would change the rule of contacts with the hull
    const hull = [-0.1, 0.1].flatMap((x) => [-0.1, 0.1].flatMap((y) => [-0.1, 0.1].map((z) => `${x} ${y} ${z}`)));
    const cupboard = await loadModel(`
      <mujoco><asset><mesh name="hull" vertex="${hull.join("  ")}"/></asset><worldbody>
        <body><geom type="box" size="0.2 0.02 0.0500003" pos="0 0.2 0"/><geom type="box" size="0.2 0.02 0.0500003" pos="0 -0.2 0"/></body>
        <body pos="0 0 0.1000008"><joint type="slide" axis="1 0 0"/>
          <geom type="box" size="0.1 0.01 0.05" pos="0 0.2 0"/><geom type="cylinder" size="0.01 0.05" pos="0 -0.2 0"/></body>
        <body pos="1 0 1"><freejoint/><geom type="mesh" mesh="hull"/></body></worldbody></mujoco>`);
    const room = await MuJoCoWorld.create(cupboard);
    try {
      const from = startState(cupboard, 0, 0);
      const result = room.step(from);
      const range = sensitivityOf(room, { from, result }, quantitiesOf(cupboard)).ncon;
      expect([result.ncon, range]).toEqual([0, [0, 8]]);
      expect(room.step(from)).toEqual(result);
    } finally {
      room.delete();
    }
  });

  const falling = (gap: number): Sample => {
    const sample = ballAt(gap);
    const from = { ...sample.from, qvel: Float64Array.of(0, 0, -1, 0, 0, 0) };
    return { ...sample, from, result: world.step(from) };
  };

  test("what such a contact does is MuJoCo's own sensitivity, and leaves the model as it was", () => {
    const sample = ballAt(5e-7);
    const qvelOf = (s: Sample) => sensitivityOf(world, s, quantitiesOf(model)).distances[1];
    expect(qvelOf(falling(5e-7))).toBeGreaterThan(0.01);
    expect(world.step(sample.from)).toEqual(sample.result);
    expect(qvelOf(ballAt(1))).toBeLessThan(1e-6);
  });

  test("an error up to twice that sensitivity is excused, a larger one is not", () => {
    const sample = falling(5e-7);
    const sensitivity = sensitivityOf(world, sample, quantitiesOf(model)).distances[1];
    for (const [times, because] of [
      [1.000001, "sensitivity"],
      [0.99 * SENSITIVITY_MARGIN, "sensitivity"],
      [1.01 * SENSITIVITY_MARGIN, null],
    ] as const) {
      judge.add(sample, off(sample, { qvel: times * sensitivity }));
      expect(judge.verdict({}).worst.some((b) => b.because === because && b.field === "qvel")).toBe(true);
    }
    expect(judge.verdict({})).toMatchObject({ beyond: 3, explained: 2, because: { sensitivity: 2 } });
  });

  test("a status bit fails the comparison", () => {
    expect(judge.verdict({ BAD_QACC: 3 }).reasons).toEqual(["BAD_QACC is set in 3 steps"]);
  });
});

describe("documented differences", () => {
  test("are known by the model", async () => {
    const of = async (name: string) => documentedIn(await loadTestModel(name));
    expect(await of("solver_PGS")).toEqual([]);
    expect(await of("solver_CG")).toEqual(["CG"]);
    expect(await of("envs/pusher")).toContain("searched contacts");
    expect(await of("envs/hopper")).toEqual(["Newton"]);
  });

  const onHeights = (option: string, pair = "") => {
    const elevation = [0.1, 0.9, 0.3, 0.2, 0.5, 0.8, 0.4, 0.6, 0.7, 0.2, 0.9, 0.1, 0.3, 0.8, 0.5, 0.4].join(" ");
    return loadModel(`
      <mujoco>
        ${option}
        <asset><hfield name="h" nrow="4" ncol="4" size="1 1 0.3 0.1" elevation="${elevation}"/></asset>
        <worldbody>
          <geom name="g" type="hfield" hfield="h"/>
          <body pos="0.1 0 0.4" euler="20 15 0"><freejoint/><geom name="b" type="box" size="0.1 0.12 0.06"/></body>
        </worldbody>
        ${pair}
      </mujoco>`);
  };

  test.each([
    ["the geom's", ""],
    ["an explicit pair's own", '<contact><pair geom1="g" geom2="b" condim="3"/></contact>'],
  ])("of boxes on height fields MuJoCo's search goes on with the smallest of margins, %s", async (_, pair) => {
    const model = await onHeights("", pair);
    const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", envs: 2, steps: 150 });
    expect(verdict.reasons).toEqual([]);
    expect(verdict.because["Newton, searched contacts"]).toBeGreaterThan(0);
  });

  test("of few iterations the search alone goes on: where they end is part of the result", async () => {
    const model = await onHeights('<option iterations="2" ls_iterations="4"/>');
    const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", envs: 2, steps: 150 });
    expect(verdict.reasons).toEqual([]);
    expect(verdict.because["searched contacts"]).toBeGreaterThan(0);
  });

  test("a PGS that stops far from its minimum stops there in corral too, which accounts for no error", async () => {
    const model = await loadTestModel("compare/pgs_stuck");
    const found = await compareWithMuJoCo(model, { steps: 100, envs: 2, seed: 1, device: "cpu-f64" });
    expect(found.verdict).toMatchObject({ passed: true, reasons: [], beyond: 0 });
    // what a minimum would have been off by
    expect(found.oneStep.qvel!.max).toBeLessThan(1e-8);

    const world = await MuJoCoWorld.create(model);
    const judge = await Judge.create(model, world);
    const [sample] = trajectory(model, world, { steps: 1, envs: 1, seed: 1 });
    const wrong = sample.result.qvel.map((v) => v + 1);
    judge.add(sample, { ...sample.result, qvel: wrong });
    expect(judge.verdict({})).toMatchObject({ passed: false, because: {} });
    judge.delete();
    world.delete();
  });
});

describe("comparison", () => {
  test("float64 on the CPU is MuJoCo to the last digits, on every field", async () => {
    const found = await compareWithMuJoCo(await loadTestModel("sensors"), {
      steps: 20,
      envs: 2,
      seed: 1,
      device: "cpu-f64",
    });
    expect(found.verdict).toMatchObject({ passed: true, beyond: 0 });
    for (const name of ["qpos", "qvel", "sensordata"] as const) expect(found.oneStep[name]!.max).toBeLessThan(1e-8);
    expect(found.contacts).toMatchObject({ equal: 40, total: 40 });
    expect(found.contacts.most).toBeGreaterThan(0);
  });

  test("a model that is not supported is reported with every feature", async () => {
    const model = await loadModel(
      `<mujoco><option><flag nativeccd="disable"/></option><worldbody><body><joint name="ball" type="ball"/><geom type="ellipsoid" size="1 2 3"/></body><geom type="ellipsoid" size="1 2 3"/></worldbody><actuator><orientation joint="ball" kp="1"/></actuator></mujoco>`,
    );
    const found = await compareWithMuJoCo(model);
    expect(found).toMatchObject({ adapter: null, oneStep: {}, verdict: { passed: false } });
    const so3 = ["transmission so3", "actuator gaintype so3", "actuator biastype so3"];
    expect(found.unsupported).toEqual([expect.stringMatching(/^disable flag nativeccd with .*ellipsoid/), ...so3]);
  });

  test("bad counts are refused", async () => {
    const model = await loadTestModel("joint_hinge");
    await expect(compareWithMuJoCo(model, { steps: 0 })).rejects.toMatchObject({ code: "bad-option" });
    await expect(compareWithMuJoCo(model, { envs: 1.5 })).rejects.toMatchObject({ code: "bad-option" });
    await expect(compareWithMuJoCo(model, { seed: -1, device: "cpu" })).rejects.toMatchObject({ code: "bad-seed" });
  });

  for (const adapter of adapters) {
    for (const name of ["envs/half_cheetah", "pair_plane_sphere", "actuators"]) {
      test(`${name} on ${adapter} is within the bounds, and drifts as MuJoCo beside itself`, async () => {
        const found = await compareWithMuJoCo(await loadTestModel(name), {
          steps: 60,
          envs: 2,
          adapter,
          rollout: true,
        });
        expect(found.verdict.reasons).toEqual([]);
        expect(found.contacts.equal + found.contacts.touching).toBe(120);
        expect(found.rollout!.map(({ step }) => step)).toEqual([1, 2, 5, 10, 20, 50, 60]);
        expect(found.rollout![0].qpos.max).toBeLessThan(ONE_STEP_BOUNDS.qposMax);
      });
    }
  }
});

test("a velocity that MuJoCo itself rounds from forces of 1e18 N is not held against corral", async () => {
  const model = await loadModel(createStiffMjcf(30, {}, true));
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 20, envs: 2, seed: 1 });
  expect(verdict).toMatchObject({ reasons: [], passed: true });
  expect(verdict.because.sensitivity).toBeGreaterThan(0);
});

test.each([59, 87])("nor are sums of forces that cancel: seed %i, measured beside M qacc", async (seed) => {
  const model = await loadModel(createStiffMjcf(seed, {}, true));
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 20, envs: 2, seed: 1 });
  expect(verdict).toMatchObject({ reasons: [], passed: true });
  expect(verdict.because["forces that cancel"]).toBeGreaterThan(0);

  // any other velocity is held against it
  const world = await MuJoCoWorld.create(model);
  const judge = await Judge.create(model, world);
  const [sample] = [...trajectory(model, world, { steps: 10, envs: 1, seed: 1 })].slice(-1);
  const most = Math.max(...sample.result.qvel.map(Math.abs));
  judge.add(sample, { ...sample.result, qvel: sample.result.qvel.map((v) => v + 0.3 * (1 + most)) });
  expect(judge.verdict({})).toMatchObject({ passed: false, beyond: 1, explained: 0 });
  judge.delete();
  world.delete();
});
