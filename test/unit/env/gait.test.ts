// a gait by the columns of its legs: what its controls are as it stands and as it walks, and what it is refused
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  defineTask,
  gait,
  leaning,
  linearVelocity,
  makeVec,
  type GaitLeg,
  type LegGaitOptions,
} from "../../../src/env/index.ts";
import { mulQuat, rotate, type Quat, type Vec3 } from "../../../src/trace/vector.ts";

const SIDES = ["left", "right"] as const;
/** A chest that floats, and two legs that turn ahead and lift. */
const model = `<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody><body name="chest"><freejoint/><geom type="box" size=".1 .1 .1" mass="1000" contype="0"/>
${SIDES.map((side, i) => `<body pos="0 ${0.2 - 0.4 * i} 0"><joint name="${side}_hip" axis="0 1 0" armature=".01"/><geom size=".01" mass=".001" pos="0 0 -.1" contype="0"/><body pos="0 0 -.2"><joint name="${side}_knee" axis="0 1 0" armature=".01"/><geom size=".01" mass=".001" pos="0 0 -.1" contype="0"/></body></body>`).join("")}
</body></worldbody><actuator>${SIDES.map((side) => ["hip", "knee"].map((name) => `<position name="${side}_${name}" joint="${side}_${name}" kp="1" kv=".1"/>`).join("")).join("")}</actuator></mujoco>`;

const leg = (side: string, phase: number): GaitLeg => ({
  actuators: [`${side}_hip`, `${side}_knee`],
  phase,
  ahead: [-2, 0],
  left: [0, 0],
  up: [-1, 3],
  turn: [0, 0],
  bend: [0, 0],
  carry: [0, -0.1],
  pitch: [1, 0],
  roll: [0, 0],
});
const options: LegGaitOptions = {
  base: "chest",
  period: 0.4,
  lift: 0.1,
  follows: 0.05,
  legs: [leg("left", 0), leg("right", 0.5)],
};

const tasks = (wanted: string, given: LegGaitOptions = options) => {
  const { control, clock, landings } = gait(given);
  return defineTask({
    id: "stepping",
    model,
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    action: { clip: [-1, 1], scale: [1, 1, 1, 1], offset: [0, 0, 0, 0] },
    control,
    values: { wanted, linear: linearVelocity("chest") },
    observe: { clock, landings },
    reward: { none: "0.0" },
    info: { left: "ctrl[0]", lifted: "ctrl[1]", right: "ctrl[2]" },
  });
};

/** Controls of hips and the left knee over some control steps. */
async function played(wanted: string, action: readonly number[], steps: number) {
  await using env = await makeVec(tasks(wanted), { numEnvs: 1, device: "wasm", threads: 1, recorder: false });
  await env.reset({ seed: 1 });
  const seen: { left: number; lifted: number; right: number }[] = [];
  for (let k = 0; k < steps; k++) {
    const { infos } = await env.step([[...action]]);
    const of = (name: string) => infos.get(name)!.values[0];
    seen.push({ left: of("left"), lifted: of("lifted"), right: of("right") });
  }
  return seen;
}

test("told to stand it holds the action, and what its legs carry between them", async () => {
  for (const { left, lifted, right } of await played("[0, 0, 0]", [0.25, 0, -0.5, 0], 20)) {
    expect(left).toBeCloseTo(0.25, 3);
    expect(lifted).toBeCloseTo(-0.05, 3);
    expect(right).toBeCloseTo(-0.5, 3);
  }
});

test("told to walk its legs step in turn, as far as the command goes in the time that feet stand", async () => {
  const seen = (await played("[0.5, 0, 0]", [0, 0, 0, 0], 120)).slice(80);
  // half a period is ten steps
  for (let k = 0; k + 10 < seen.length; k++) expect(seen[k].left).toBeCloseTo(seen[k + 10].right, 2);
  // 0.5 m/s for 0.24 s, half of it ahead, where no leg lifts: the foot that stands goes back evenly
  const stands = seen.filter(({ lifted }) => lifted <= 0).map(({ left }) => left);
  expect(Math.max(...stands)).toBeLessThanOrEqual(2 * 0.5 * 0.12 + 0.01);
  expect(Math.min(...stands)).toBeGreaterThanOrEqual(-2 * 0.5 * 0.12 - 0.01);
  expect(Math.max(...stands) - Math.min(...stands)).toBeGreaterThan(0.2);
  // and up by the lift in the middle of a swing
  expect(Math.max(...seen.map(({ lifted }) => lifted))).toBeGreaterThan(0.25);
});

test("a base leans along its axes as one that is turned by them along x and y", () => {
  const unit = fc
    .tuple(...Array.from({ length: 4 }, () => fc.double({ min: -1, max: 1, noNaN: true })))
    .filter((q) => Math.hypot(...q) > 0.1)
    .map((q): Quat => q.map((x) => x / Math.hypot(...q)) as unknown as Quat);
  fc.assert(
    fc.property(unit, unit, (base, turn) => {
      const axes = [
        [1, 0, 0],
        [0, 1, 0],
      ].map((axis) => rotate(turn, axis as unknown as Vec3)) as unknown as readonly [
        readonly number[],
        readonly number[],
      ];
      const turned = leaning(mulQuat(base, turn));
      leaning(base, axes).forEach((x, k) => expect(x).toBeCloseTo(turned[k] as number, 9));
    }),
  );
});

test.each([
  [{ period: 0 }, "period of gait is 0"],
  [{ duty: 0.5 }, "duty of gait is 0.5"],
  [{ legs: [] }, "legs of gait is []"],
  [
    { legs: [{ ...options.legs[0], ahead: [1] }] },
    "ahead of a leg of gait is [1]; it is 2 numbers, one for each of its actuators",
  ],
  [
    { legs: [{ ...options.legs[0], actuators: ["left_hip", "tail"] }] },
    'an actuator of gait is "tail"; it is one of left_hip',
  ],
  [{ posture: [1] }, "posture of gait is [1]; it is two numbers"],
  [{ sway: Number.NaN }, "sway of gait is NaN"],
  [{ axes: [] }, "axes of gait is []; it is two vectors"],
  [{ axes: [[0, 0, 1]] }, "axes of gait is [[0,0,1]]; it is two vectors"],
  [{ lifts: 1 }, "lifts"],
  [{ base: "world" }, "a body with a free joint"],
  [{ wanted: [0.3, 0] }, "wanted of gait is [0.3,0]; it is 3 numbers (ahead, left, turning), not 2"],
  [{ wanted: "wanted.xy" }, 'wanted of gait is "wanted.xy"; it is 3 numbers (ahead, left, turning), not 2'],
  [{ velocity: "linear.x" }, 'velocity of gait is "linear.x"; it is 2 numbers (ahead, left), not 1'],
])("%j is refused", async (change, text) => {
  const made = async () =>
    makeVec(tasks("[0, 0, 0]", { ...options, ...change } as never), { numEnvs: 1, device: "wasm" });
  await expect(made()).rejects.toThrow(text);
});
