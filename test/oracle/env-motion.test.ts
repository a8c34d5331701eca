// reference motions read in kernels, against the same frames in float64 and MuJoCo's places of bodies
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { zipSync } from "fflate";
import { readFrames } from "../../src/env/task/motion-frames.ts";
import { defineTask, Discrete, loadMotion, makeVec, Motion, type Scene } from "../../src/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { packZip } from "../../src/model/zip-stream.ts";
import { writeNpy } from "../../src/io/npy.ts";
import { envBounds } from "../support/tolerances.ts";

const MODEL = `<mujoco><option timestep="0.005" gravity="0 0 0"/><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom size=".1" mass="1"/>
    <body name="arm" pos=".2 0 0"><joint name="elbow" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      <body name="hand" pos=".3 0 0"><joint name="wrist" type="ball"/><geom size=".03"/></body></body></body>
  </worldbody><actuator><motor joint="elbow"/></actuator></mujoco>`;

const turn = (axis: readonly number[], angle: number): number[] => {
  const norm = Math.hypot(...axis);
  return [Math.cos(angle / 2), ...axis.map((x) => (x / norm) * Math.sin(angle / 2))];
};
/** A cycle of twelve steps: swaying and turning, two tenths further on each time. */
const ROWS = Array.from({ length: 13 }, (_, f) => {
  const a = (2 * Math.PI * f) / 12;
  return [
    0.2 * (f / 12),
    0.1 * Math.sin(a),
    1 + 0.05 * Math.cos(a),
    ...turn([0, 0, 1], 0.4 * Math.sin(a)),
    0.5 * Math.sin(a),
    ...turn([1, 2, 0], 0.3 * Math.cos(a)),
  ];
});
const FPS = 20;
const DURATION = 12 / FPS;

const task = (motion: Motion) =>
  defineTask({
    id: "Follow",
    model: MODEL,
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    observe: {
      qpos: motion.qpos(),
      qvel: motion.qvel(["elbow", "wrist"]),
      ahead: motion.qpos(["elbow"], { ahead: 0.04 }),
    },
    reward: { none: 0 },
    truncated: { over: motion.over },
    info: {
      time: motion.time,
      phase: motion.phase,
      turned: motion.turned("hand"),
      ...Object.fromEntries([0, 1, 2].map((k) => [`hand ${k}`, (s: Scene) => motion.xpos("hand")(s)[k]])),
      ...Object.fromEntries(
        [0, 1, 2].map((k) => [`from ${k}`, (s: Scene) => motion.xpos("hand", { from: "trunk" })(s)[k]]),
      ),
      ...Object.fromEntries([0, 1, 2, 3].map((k) => [`quat ${k}`, (s: Scene) => motion.xquat("hand")(s)[k]])),
    },
    reset: motion.start(),
  });

/** The pose at a time of the cycle, or of the motion as far as it goes. */
function poseAt(time: number, cyclic: boolean, rows = ROWS): number[] {
  const cycles = cyclic ? Math.floor(time / DURATION) : 0;
  const at = Math.min(Math.max((time - cycles * DURATION) * FPS, 0), rows.length - 1);
  const f = Math.min(Math.floor(at), rows.length - 2);
  const pose = rows[f].map((x, i) => x + (at - f) * (rows[f + 1][i] - x));
  pose[0] += cycles * 0.2;
  for (const from of [3, 8]) {
    const norm = Math.hypot(...pose.slice(from, from + 4));
    for (let k = from; k < from + 4; k++) pose[k] /= norm;
  }
  return pose;
}

describe.each([true, false])("cyclic: %s", (cyclic) => {
  test.each(["cpu-f64", "wasm"] as const)("%s", async (device) => {
    const bound = device === "cpu-f64" ? 1e-12 : envBounds.qpos.value;
    const motion = await loadMotion(ROWS, { model: MODEL, fps: FPS, cyclic });
    await using env = await makeVec(task(motion), {
      numEnvs: 3,
      device,
      recorder: false,
      autoreset: "same-step",
      seed: 3,
    });
    await env.reset();
    const model = await loadModel(MODEL);
    const places = await withMuJoCo(model, (oracle) =>
      ROWS.map((row) => {
        oracle.write("qpos", row);
        oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
        return [...oracle.read("xpos").slice(9, 12), ...oracle.read("xpos").slice(3, 6)];
      }),
    );
    const start = await env.getState(["qpos", "qvel"]);
    const close = (got: ArrayLike<number>, want: readonly number[], what: string) =>
      want.forEach((x, k) =>
        expect(Math.abs(got[k] - x), `${what}[${k}]: ${got[k]}, not ${x}`).toBeLessThanOrEqual(bound),
      );
    for (let t = 0; t < 40; t++) {
      const { observations, infos, truncated } = await env.step(new Float32Array(3));
      for (let w = 0; w < 3; w++) {
        const one = (name: string) => infos.get(name)!.values[w];
        const time = one("time");
        if (t === 0) {
          close(start.qpos.slice(12 * w, 12 * w + 12), poseAt(time - 0.01, cyclic), "start");
          expect(truncated[w]).toBe(!cyclic && time >= DURATION - 0.005 ? 1 : 0);
        }
        if (truncated[w]) continue;
        const row = observations.slice(17 * w, 17 * w + 17);
        const pose = poseAt(time, cyclic);
        close(row, pose, "qpos");
        close([row[16]], [poseAt(time + 0.04, cyclic)[7]], "ahead");
        // linear between the places at the frames
        const flat = places.map((p) => p);
        const at = Math.min((time % DURATION) * FPS, 12);
        const f = Math.min(Math.floor(at), 11);
        const place = flat[f].map((x, k) => x + (at - f) * (flat[f + 1][k] - x));
        const further = cyclic ? 0.2 * Math.floor(time / DURATION) : 0;
        close(
          [0, 1, 2].map((k) => one(`hand ${k}`)),
          [place[0] + further, place[1], place[2]],
          "hand",
        );
        close(
          [0, 1, 2].map((k) => one(`from ${k}`)),
          [0, 1, 2].map((k) => place[k] - place[3 + k]),
          "from",
        );
      }
    }
  });
});

test("velocities are MuJoCo's differences of the frames, and a world that flies on stays with them", async () => {
  // a trunk that moves and turns evenly, nothing acting
  const rows = Array.from({ length: 11 }, (_, f) => [0.3 * (f / 10), 0, 1, ...turn([0, 0, 1], f / 10), 0, 1, 0, 0, 0]);
  const motion = await loadMotion(rows, { model: MODEL, fps: 10, fromStart: true });
  const still = defineTask({ ...task(motion), id: "Fly", info: { turned: motion.turned("trunk") } });
  await using env = await makeVec(still, { numEnvs: 1, device: "cpu-f64", recorder: false });
  await env.reset({ seed: 1 });
  const { qvel } = await env.getState(["qvel"]);
  [0.3, 0, 0, 0, 0, 1, 0, 0, 0, 0].forEach((x, i) => expect(qvel[i]).toBeCloseTo(x, 12));
});

test("npz, CSV with names and quaternions of another order are the same motion", async () => {
  const npz = await packZip({
    "qpos.npy": writeNpy({ shape: [13, 12], values: Float64Array.from(ROWS.flat()) }),
    "fps.npy": writeNpy({ shape: [], values: Float64Array.of(FPS) }),
  });
  const last = ([x, y, z, w, ...axis]: readonly number[]): number[] => [
    x,
    y,
    z,
    ...axis.slice(0, 3),
    w,
    axis[3],
    ...axis.slice(5),
    axis[4],
  ];
  const csv = [Array.from({ length: 12 }, (_, i) => `c${i}`), ...ROWS.map(last)].map((row) => row.join(",")).join("\n");
  for (const made of [
    await loadMotion(npz, { model: MODEL }),
    await loadMotion(csv, { model: MODEL, fps: FPS, quaternions: "xyzw" }),
    await loadMotion(new TextEncoder().encode(csv), { model: MODEL, fps: FPS, quaternions: "xyzw" }),
  ]) {
    await using env = await makeVec(task(made), { numEnvs: 1, device: "cpu-f64", recorder: false, seed: 3 });
    const observations = Array.from((await env.reset()).observations);
    const { infos } = await env.step([0]);
    poseAt(infos.get("time")!.values[0] - 0.01, false).forEach((x, k) => expect(observations[k]).toBeCloseTo(x, 6));
  }
});

test("rows may be typed arrays, and what is none is told of", async () => {
  const how = { model: MODEL, fps: FPS };
  const rows = ROWS.map((row) => Float64Array.from(row));
  expect((await readFrames(rows, how)).qpos).toEqual((await readFrames(ROWS, how)).qpos);
  await expect(loadMotion(new Float32Array(24) as never, how)).rejects.toThrow(
    /it is \[0,.*; it is rows of qpos, the path/,
  );
  await expect(loadMotion(null as never, how)).rejects.toThrow(
    "[bad-motion] the motion: it is null; it is rows of qpos",
  );
});

test("an array that NumPy keeps by columns is read, numbers of other kinds are refused with what to do", async () => {
  const columns = ROWS[0].flatMap((_, k) => ROWS.map((row) => row[k]));
  const bytes = writeNpy({ shape: [ROWS.length, ROWS[0].length], values: Float64Array.from(columns) });
  const edited = (from: string, to: string) => {
    const text = String.fromCharCode(...bytes).replace(from, to);
    return packZip({ "qpos.npy": Uint8Array.from(text, (c) => c.charCodeAt(0)) });
  };
  const how = { model: MODEL, fps: FPS };
  const [read, { qpos }] = [await readFrames(await edited("False,", "True, "), how), await readFrames(ROWS, how)];
  expect(read.qpos).toEqual(qpos);
  await expect(loadMotion(await edited("<f8", ">f8"), { model: MODEL })).rejects.toThrow(
    />f8; .*astype\(np\.float32\)/,
  );
});

test("motions that do not fit are refused", async () => {
  const load = (rows: readonly (readonly number[])[] | string, more: object = {}) =>
    loadMotion(rows, { model: MODEL, fps: FPS, ...more });
  await expect(load([ROWS[0]])).rejects.toThrow(/bad-motion.*it has 1 frame; it has 2 to 100000/);
  await expect(load([ROWS[0], [1, 2]])).rejects.toThrow(/frame 1 has 2 numbers; qpos of the model has 12/);
  await expect(load([ROWS[0], ROWS[1].map((x, i) => (i === 9 ? NaN : x))])).rejects.toThrow(
    /qpos\[9\] of frame 1 is NaN; it is a finite number/,
  );
  await expect(load([ROWS[0], ROWS[1].with(9, 1e39)])).rejects.toThrow(/qpos\[9\] of frame 1 is 1e\+39; .* of float32/);
  await expect(load([ROWS[0], ROWS[1].with(0, 1e37)], { fps: 1000 })).rejects.toThrow(
    /at fps 1000, more than float32 holds; pass fewer/,
  );
  await expect(load("0.5\n")).rejects.toThrow(/missing-file.* the motion 0\.5\\n cannot be read/);
  await expect(load("")).rejects.toThrow('[missing-file] the motion "" is an empty path. Pass the path');
  const npz = (shape: readonly number[], more: Record<string, number> = {}) =>
    packZip({
      "qpos.npy": writeNpy({ shape: [...shape], values: Float64Array.from(ROWS.flat()) }),
      ...Object.fromEntries(
        Object.entries(more).map(([name, x]) => [`${name}.npy`, writeNpy({ shape: [], values: Float64Array.of(x) })]),
      ),
    });
  await expect(loadMotion(await npz([13 * 12]), { model: MODEL })).rejects.toThrow(
    /qpos of the npz is of \[156\]; it is of \[frames, nq\]/,
  );
  await expect(loadMotion(await npz([13, 12], { fps: 30, dt: 0.05 }), { model: MODEL })).rejects.toThrow(
    /the npz says fps 30 and dt 0.05, which is fps 20; keep one/,
  );
  const many = writeNpy({ shape: [5e6, 1], values: new Uint8Array(5e6) });
  await expect(loadMotion(await packZip({ "qpos.npy": many }), { model: MODEL, fps: 30 })).rejects.toThrow(
    "it has 5,000,000 frames; it has 2 to 100000",
  );
  const whole = await npz([13, 12], { fps: 30 });
  await expect(loadMotion(whole.subarray(0, 100), { model: MODEL })).rejects.toThrow(
    "[bad-motion] the motion: its npz cannot be read: its directory is missing, so it was cut short.",
  );
  // stored, so that its bytes are numbers
  const other = zipSync(
    { "qpos.npy": writeNpy({ shape: [13, 12], values: Float64Array.from(ROWS.flat()) }) },
    { level: 0 },
  );
  other[300] ^= 1;
  await expect(loadMotion(other, { model: MODEL, fps: FPS })).rejects.toThrow(
    "qpos.npy has other bytes than were packed",
  );
  await expect(load("nowhere.csv")).rejects.toMatchObject({ code: "missing-file" });
  await expect(load(ROWS, { fps: undefined })).rejects.toThrow(/fps is undefined; .*passed here or in the npz/);
  await expect(load(ROWS, { fps: 0 })).rejects.toThrow(/fps is 0/);
  await expect(load(ROWS, { fps: 1e9 })).rejects.toThrow(/fps is 1000000000; .*at most 100000/);
  await expect(load(ROWS.slice(0, 6), { cyclic: true })).rejects.toThrow(/ends .* from where it began/);
  await expect(load(ROWS.map((r) => r.map((x) => 2 * x)))).rejects.toThrow(/is no quaternion/);
  await expect(load(ROWS, { loop: true })).rejects.toThrow(/no option "loop"/);
  await expect(load(ROWS, { cyclic: "no" })).rejects.toThrow(/cyclic is "no"; it is true or false/);
  await expect(load(ROWS, { key: 5 })).rejects.toThrow(/key of a motion is 5/);
});

test("files of NumPy that are no npz, and empty ones, are told of as such", async () => {
  const root = mkdtempSync(join(tmpdir(), "corral-motion-"));
  const file = (name: string, bytes: string) => {
    writeFileSync(join(root, name), bytes, "latin1");
    return loadMotion(join(root, name), { model: MODEL, fps: FPS });
  };
  try {
    await expect(file("walk.npy", "\x93NUMPY\x01\x00v\x00{}\n")).rejects.toThrow(/walk\.npy is one array \(npy\)/);
    await expect(file("walk.npz", "")).rejects.toThrow(/walk\.npz is no npz: it is empty/);
    await expect(file("text.npz", "0,0\n1,1\n")).rejects.toThrow(/text\.npz is no npz/);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("what is read of a motion, and how starts are spread, is refused where it is no number", async () => {
  const motion = await loadMotion(ROWS, { model: MODEL, fps: FPS });
  const made = (more: object) => makeVec(defineTask({ ...task(motion), ...more }), { numEnvs: 1, device: "cpu" });
  for (const [more, text] of [
    [
      { observe: { next: motion.qpos(undefined, { ahead: NaN }) } },
      /ahead of a motion is NaN; it is a number of seconds/,
    ],
    [{ observe: { next: motion.qvel(undefined, { aheed: 1 } as never) } }, /no option "aheed"; nearest: ahead/],
    [{ reset: motion.start({ qpos: NaN }) }, /qpos of the start of a motion is NaN/],
    [{ reset: motion.start({ qvel: -1 }) }, /qvel of the start of a motion is -1/],
  ] as const)
    await expect(made(more), String(text)).rejects.toThrow(text);
});

test("two motions of a task have keys of their own", async () => {
  const how = { model: MODEL, fps: FPS };
  const [walk, run] = [await loadMotion(ROWS, how), await loadMotion(ROWS.slice(0, 5), how)];
  const both = (other: Motion) =>
    makeVec(defineTask({ ...task(walk), observe: { qpos: walk.qpos(), other: other.qpos() } }), {
      numEnvs: 1,
      device: "cpu",
    });
  await expect(both(run)).rejects.toThrow(
    'key of a motion is "motion"; it is a name that no other motion of the task has: loadMotion(..., { key })',
  );
  await using env = await both(await loadMotion(ROWS.slice(0, 5), { ...how, key: "run" }));
  expect(env.numEnvs).toBe(1);
});

/** Worlds whose episodes begin anew by where they failed. */
const LEARNING = { numEnvs: 64, device: "wasm", recorder: false, autoreset: "same-step", seed: 2 } as const;

test("a world that comes to the end of its motion has passed the last part", async () => {
  const motion: Motion = await loadMotion(ROWS, { model: MODEL, fps: FPS, parts: 2, failed: (s: Scene) => failing(s) });
  const { and, ge, gt } = await import("../../src/trace/scalar.ts");
  const failing = (s: Scene) => and(ge(motion.phase(s), 0.9), gt(s.params.fails[0], 0));
  const learns = defineTask({ ...task(motion), id: "Pass", params: { fails: 1 }, terminated: { failing } });
  await using env = await makeVec(learns, LEARNING);
  // of episodes that begin in these steps, the share that begins in the second half: x goes with time
  const lateShare = async (steps: number) => {
    let [late, all] = [0, 0];
    for (let t = 0; t < steps; t++) {
      const { observations, terminated, truncated } = await env.step(new Float32Array(64));
      for (let w = 0; w < 64; w++) {
        if (!terminated[w] && !truncated[w]) continue;
        all++;
        if (observations[17 * w] > 0.1) late++;
      }
    }
    return late / all;
  };
  await env.reset({ seed: 2 });
  await lateShare(200);
  const failed = await lateShare(200);
  await env.setParams({ fails: 0 });
  await lateShare(800);
  const passed = await lateShare(400);
  expect(failed).toBeGreaterThan(0.7);
  expect(passed).toBeLessThan(0.6);
});

test("episodes begin more often where a world fails, which it forgets with a seed", async () => {
  // fails in the third quarter, by what the motion itself says
  const motion: Motion = await loadMotion(ROWS, {
    model: MODEL,
    fps: FPS,
    parts: 4,
    failed: (s: Scene) => failing(s),
  });
  const failing = (s: Scene) => inThird(motion.phase(s));
  const { and, ge, lt } = await import("../../src/trace/scalar.ts");
  const inThird = (x: Parameters<typeof ge>[0]) => and(ge(x, 0.5), lt(x, 0.75));
  const learns = defineTask({ ...task(motion), id: "Learn", terminated: { failing } });
  await using env = await makeVec(learns, LEARNING);
  // of episodes that begin in these steps, the share that begins in each part: x goes with time
  const shares = async (from: number, to: number) => {
    await env.reset({ seed: 2 });
    const counts = [0, 0, 0, 0];
    for (let t = 0; t < to; t++) {
      const { observations, terminated, truncated } = await env.step(new Float32Array(64));
      if (t < from) continue;
      for (let w = 0; w < 64; w++)
        if (terminated[w] || truncated[w]) counts[Math.min(3, Math.floor((4 * observations[17 * w]) / 0.2))]++;
    }
    const total = counts.reduce((a, b) => a + b);
    return counts.map((n) => n / total);
  };
  const early = await shares(0, 10);
  const [, , late] = await shares(150, 200);
  expect(late).toBeGreaterThan(early[2]);
  expect(late).toBeGreaterThan(0.5);
  expect(await shares(0, 10)).toEqual(early);
});

test("a cycle may turn all the way round, about what floats and in a ball", async () => {
  const model = `<mujoco><worldbody><body><freejoint/><geom size="0.1"/><body><joint name="ball" type="ball"/><geom size="0.1"/></body></body></worldbody></mujoco>`;
  const half = (f: number) => (Math.PI * f) / 20;
  const rows = Array.from({ length: 21 }, (_, f) => {
    const turned = [Math.cos(half(f)), 0, 0, Math.sin(half(f))];
    return [0, 0, 1, ...turned, ...turned];
  });
  const motion = await loadMotion(rows, { model, fps: 20, cyclic: true });
  const whole = defineTask({
    id: "Turns",
    model,
    frameSkip: 1,
    maxEpisodeSteps: 10,
    actionSpace: () => new Discrete(1),
    control: () => [],
    observe: { speed: motion.qvel() },
    reward: { none: 0 },
    reset: motion.start(),
  });
  await using env = await makeVec(whole, { numEnvs: 16, device: "cpu-f64" });
  const { observations } = await env.reset({ seed: 1 });
  const wanted = Array.from({ length: 16 }, () => [0, 0, 0, 0, 0, 2 * Math.PI, 0, 0, 2 * Math.PI]).flat();
  wanted.forEach((x, i) => expect(observations[i]).toBeCloseTo(x, 5));
  // what does not close is refused yet
  await expect(loadMotion(rows.slice(0, 20), { model, fps: 20, cyclic: true })).rejects.toThrow("ends");
});
