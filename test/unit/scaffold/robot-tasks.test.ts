// tasks that are written for robots: they build, step and stay finite; what does not fit is refused
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { csv, walk } from "../../../examples/g1/make-walk.ts";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { idOf, loadModel } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { gaitOf } from "../../../src/scaffold/gait.ts";
import { reachTask } from "../../../src/scaffold/reach-task.ts";
import { velocityTask, type Places } from "../../../src/scaffold/robot-tasks.ts";
import { baseOf, robotOf, type Robot } from "../../../src/scaffold/robot.ts";
import { csvOf, SWAY_FPS, swayOf, trackTask } from "../../../src/scaffold/track-task.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-robots-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const library = new URL("../../../src/index.ts", import.meta.url).href;
const envModel = (name: string): string => fileURLToPath(new URL(`../../../envs/${name}/model.xml`, import.meta.url));

async function taskOf(
  kind: (name: string, robot: Robot, places: Places) => string,
  name: string,
  path: string,
): Promise<Task> {
  const robot = await robotOf(await loadModel(path));
  const file = join(folder, `${name}.mts`);
  writeFileSync(file, kind(name, robot, { library, model: pathToFileURL(path).href }));
  return ((await import(file)) as { default: Task }).default;
}

describe.each([
  { name: "quadruped", kind: velocityTask },
  { name: "ant", kind: velocityTask },
  { name: "humanoid", kind: velocityTask },
  { name: "arm_table", kind: reachTask },
  { name: "pick_and_place", kind: reachTask },
  { name: "reacher", kind: reachTask },
])("$name", ({ name, kind }) => {
  test("a task is written that builds, steps and stays finite", async () => {
    const task = await taskOf(kind, name, envModel(name));
    await using env = await makeVec(task, { numEnvs: 4, seed: 1, device: "wasm" });
    await env.reset();
    for (let t = 0; t < 30; t++) {
      const { observations, rewards } = await env.step(env.actionSpace.sample(1, { draw: t }));
      expect(observations.every(Number.isFinite)).toBe(true);
      expect(rewards.every(Number.isFinite)).toBe(true);
    }
  });
});

test("an arm's goals, the corners too, are where its servos bring it", async () => {
  const robot = await robotOf(await loadModel(envModel("panda")));
  const text = reachTask("arm", robot, { library, model: "" });
  const [, box] = /goal: command\(\[([^]*?)\]\),/.exec(text)!;
  const ranges = [...box.matchAll(/\[(.*), (.*)\]/g)].map(([, low, high]) => [Number(low), Number(high)]);
  await withMuJoCo(robot.model, (oracle) => {
    const tip = (q: readonly number[]) => {
      oracle.write("qpos", [...q, ...robot.qpos.slice(q.length)]);
      oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
      return [...oracle.read("site_xpos")];
    };
    const home = robot.qpos.slice(0, 7);
    const off = (p: readonly number[], goal: readonly number[]) => goal.map((x, k) => x - p[k]);
    const missing = Array.from({ length: 8 }, (_, corner) => {
      const goal = ranges.map((range, k) => range[(corner >> k) & 1]);
      let q = home;
      // steps downhill, within what actions ask for
      for (let i = 0; i < 60; i++) {
        const p = tip(q);
        const missed = off(p, goal);
        const slopes = q.map((_, j) => off(tip(q.map((x, k) => (k === j ? x + 1e-4 : x))), p).map((x) => -x / 1e-4));
        q = q.map((x, j) => {
          const { home: at, reach } = robot.motors[j];
          const next = x + slopes[j].reduce((sum, x3, k) => sum + x3 * missed[k], 0);
          return Math.max(at - reach, Math.min(at + reach, next));
        });
      }
      return Math.hypot(...off(tip(q), goal));
    });
    const [, success] = /success: "missing < (.*)"/.exec(text)!;
    expect(Math.max(...missing)).toBeLessThan(Number(success));
  });
});

test.each(["quadruped", "arm_table"])("%s follows a motion that is written for it", async (name) => {
  const path = envModel(name);
  const robot = await robotOf(await loadModel(path));
  const file = join(folder, `${name}-track.mts`);
  const motion = { file: `./${name}-motion.csv`, fps: SWAY_FPS, cyclic: true };
  writeFileSync(join(folder, `${name}-motion.csv`), csvOf(robot.model, await swayOf(robot)));
  writeFileSync(file, trackTask(name, robot, { library, model: pathToFileURL(path).href, motion }));
  const { default: task } = (await import(file)) as { default: Task };
  await using env = await makeVec(task, { numEnvs: 4, seed: 1, device: "wasm", recorder: false });
  await env.reset();
  const { rewards, infos, terminated } = await env.step(env.actionSpace.sample(1, { draw: 1 }));
  expect(terminated.every((x) => x === 0)).toBe(true);
  // in its first step a world is still beside the motion
  for (let w = 0; w < 4; w++) {
    expect(infos.get("off")!.values[w]).toBeLessThan(0.5);
    expect(rewards[w]).toBeGreaterThan(0.5);
  }
});

describe("the walk of the G1-like humanoid", () => {
  const g1 = envModel("g1");

  test("is what its program makes, within the joints' ranges, with feet that stay where they stand", async () => {
    expect(readFileSync(new URL("../../../examples/g1/walk.csv", import.meta.url), "utf8")).toBe(csv());
    const model = await loadModel(g1);
    const feet = ["left_foot", "right_foot"].map((name) => idOf(model, "site", name));
    const places = await withMuJoCo(model, (oracle) =>
      walk().map((row) => {
        oracle.write("qpos", row);
        oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
        return feet.map((site) => Array.from(oracle.read("site_xpos").slice(3 * site, 3 * site + 3)));
      }),
    );
    for (const row of walk())
      for (let j = 1; j < model.njnt; j++) {
        expect(row[j + 6]).toBeGreaterThan(model.jnt_range[2 * j]);
        expect(row[j + 6]).toBeLessThan(model.jnt_range[2 * j + 1]);
      }
    places.slice(1).forEach((now, f) => {
      // one foot stands at least, and those that do move by less than 2 mm a frame
      const standing = now.filter(([, , z], foot) => z < 1e-3 && places[f][foot][2] < 1e-3);
      expect(standing.length).toBeGreaterThan(0);
      now.forEach((at, foot) => {
        if (standing.includes(at)) expect(Math.hypot(...at.map((x, k) => x - places[f][foot][k]))).toBeLessThan(2e-3);
      });
    });
  });

  test("is followed by servos without any action, for a while", async () => {
    const robot = await robotOf(await loadModel(g1));
    const file = join(folder, "g1-walk.mts");
    writeFileSync(join(folder, "walk.csv"), csv());
    const motion = { file: "./walk.csv", fps: 50, cyclic: true };
    writeFileSync(file, trackTask("g1-walk", robot, { library, model: pathToFileURL(g1).href, motion }));
    const { default: task } = (await import(file)) as { default: Task };
    await using env = await makeVec(task, { numEnvs: 8, seed: 1, device: "wasm", recorder: false });
    await env.reset();
    const still = new Float32Array(8 * 23);
    for (let t = 0; t < 10; t++) {
      const { infos, terminated } = await env.step(still);
      expect(terminated.every((x) => x === 0)).toBe(true);
      // 23 joints together (rad)
      expect(Math.max(...infos.get("off")!.values)).toBeLessThan(1);
    }
  });
});

test("a quadruped's base, feet and pose are found", async () => {
  const robot = await robotOf(await loadModel(envModel("quadruped")));
  expect(robot.key).toBe("stand");
  const { names } = robot.model;
  const { body, joint, feet, qpos, qvel } = baseOf(robot);
  expect([names.body[body], joint, qpos, qvel]).toEqual(["trunk", "root", [7, 15], [6, 14]]);
  expect(feet.map((id) => names.body[id])).toEqual(["shank_fl", "shank_fr", "shank_rl", "shank_rr"]);
});

test("two legs are told to go as fast as they are long, whatever they carry", async () => {
  const short = join(folder, "short.xml");
  writeFileSync(
    short,
    `<mujoco><worldbody><geom type="plane" size="0 0 1"/><body name="hips" pos="0 0 .25"><freejoint/>
    <geom type="box" size=".05 .08 .2" pos="0 0 .2" mass="2"/>${[".06", "-.06"]
      .map(
        (
          y,
        ) => `<body pos="0 ${y} 0"><joint name="hip${y}" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.1" mass=".3"/>
      <body name="foot${y}" pos="0 0 -.1"><joint name="knee${y}" axis="0 1 0" range="-90 90"/>
      <geom type="box" size=".06 .04 .01" pos="0 0 -.14" mass=".2"/></body></body>`,
      )
      .join("")}</body></worldbody><actuator>${[".06", "-.06"]
      .map((y) => `<position joint="hip${y}" kp="20"/><position joint="knee${y}" kp="20"/>`)
      .join("")}</actuator></mujoco>`,
  );
  expect((await taskOf(velocityTask, "short", short)).params).toMatchObject({ speed: 0.5 });
  expect((await taskOf(velocityTask, "tall", envModel("biped"))).params).toMatchObject({ speed: 1 });
});

test("about a gait actions move servos as far as a step takes that catches a base so high", async () => {
  const robot = await robotOf(await loadModel(envModel("biped")));
  const gait = (await gaitOf(robot))!;
  const { height } = baseOf(robot);
  const knee = robot.motors.findIndex(({ name }) => name.includes("knee"));
  const scaleOf = (raised: number): number => {
    const text = velocityTask("high", { ...robot, lift: robot.lift + raised }, { library, model: "x.xml" }, gait);
    return Number(/scale: \[(.*?)\]/.exec(text)![1].split(", ")[knee]);
  };
  const { reach } = robot.motors[knee];
  for (const high of [0.2, 0.5, 1, 2]) {
    const share = Math.min(1, 0.9 / Math.sqrt(9.81 * high) / 0.5);
    expect(scaleOf(high - height)).toBeCloseTo(share * reach, 4);
  }
});

test("what walks on more than two feet is to be level, and its hips turn up to half of their range", async () => {
  const four = await robotOf(await loadModel(envModel("quadruped")));
  const motors = four.motors.map((motor, i) => ({ ...motor, reach: i === 0 ? 0.15 : 0.4 }));
  const text = velocityTask("four", { ...four, motors }, { library, model: "x.xml" });
  expect(text).toContain('level: { value: "dot(down.xy, down.xy)"');
  const scaleOf = (written: string): string[] => /scale: \[(.*?)\]/.exec(written)![1].split(", ");
  expect(scaleOf(text).slice(0, 2)).toEqual(["0.3", "0.5"]);

  // an arm that it carries moves as far as any
  const arm = `<body name="arm" pos="0 0 .2"><joint name="arm" axis="0 1 0" range="-.4 .4"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 .2" mass="6"/></body>`;
  const carries = readFileSync(envModel("quadruped"), "utf8")
    .replace(/(<body name="trunk"[^>]*>)/, `$1${arm}`)
    .replace("</actuator>", `<position name="arm" joint="arm" kp="20" ctrlrange="-.4 .4"/></actuator>`)
    .replace(/<keyframe>[^]*<\/keyframe>/, "");
  const armed = await robotOf(await loadModel(carries));
  const written = velocityTask("armed", armed, { library, model: "x.xml" });
  expect(scaleOf(written)).toHaveLength(armed.motors.length);
  expect(Number(scaleOf(written).at(-1))).toBeCloseTo(armed.motors.at(-1)!.reach, 6);

  const two = await robotOf(await loadModel(envModel("biped")));
  expect(velocityTask("two", two, { library, model: "x.xml" })).not.toContain("level:");
});

test("a motor whose bias a program's callback gives is a motor", async () => {
  const legOf = (bias: string) =>
    loadModel(`<mujoco><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0" range="-1 1" limited="true"/><geom size=".1" mass="1"/></body></worldbody>
      <actuator><general name="m" joint="j" biastype="${bias}" ctrlrange="-7 7" ctrllimited="true"/></actuator></mujoco>`);
  const [plain, user] = await Promise.all(
    ["none", "user"].map(async (bias) => (await robotOf(await legOf(bias))).motors),
  );
  expect(user[0].servo).toBeDefined();
  expect(user).toEqual(plain);
});

test("a motor whose gain is 0 gets no servo, which tasks refuse", async () => {
  const model =
    await loadModel(`<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1"/></body></worldbody>
      <actuator><general name="m" joint="j" gainprm="0"/></actuator></mujoco>`);
  expect((await robotOf(model)).motors[0].servo).toBeUndefined();
});

test("motors that nothing bounds are as strong as a robot of its weight and height needs, in its legs", async () => {
  const text = readFileSync(envModel("quadruped"), "utf8")
    .replaceAll(
      /<position (name="\w+" joint="\w+") class="\w+"\/>/g,
      `<motor $1 ctrllimited="false" forcelimited="false"/>`,
    )
    .replace(/<keyframe>[^]*<\/keyframe>/, "");
  const { motors, carries } = await robotOf(await loadModel(text));
  expect(motors.length).toBeGreaterThan(0);
  for (const { servo, isPosition } of motors) {
    expect(isPosition).toBe(true);
    // half of its weight times its height on 0.67 rad, or what steps follow
    expect(servo!.stiffness).toBeGreaterThan(0);
    expect(servo!.stiffness).toBeLessThanOrEqual((0.5 * carries) / 0.67 + 1e-9);
  }
});

test("standing still is rewarded more than falling", async () => {
  const task = await taskOf(velocityTask, "standing", envModel("quadruped"));
  await using env = await makeVec(task, {
    numEnvs: 8,
    seed: 1,
    device: "wasm",
    params: { speed: 0, turn: 0 },
  } as never);
  await env.reset();
  const still = new Float32Array(8 * 8);
  let ended = 0;
  for (let t = 0; t < 50; t++) ended += (await env.step(still)).terminated.reduce((sum, x) => sum + x, 0);
  expect(ended).toBe(0);
});

test("a keyframe of standing on one leg is no pose to start from", async () => {
  const keys = ["squat", "stand_on_left_leg"].map((name) => `<key name="${name}" qpos="0"/>`).join("");
  const leg = '<body><joint name="j" axis="0 1 0"/><geom size=".1"/></body>';
  const robot = await robotOf(
    await loadModel(
      `<mujoco><worldbody>${leg}</worldbody><actuator><motor joint="j"/></actuator><keyframe>${keys}</keyframe></mujoco>`,
    ),
  );
  expect(robot.key).toBe("squat");
});

const box = (inside: string, rest = "") => `<mujoco><worldbody>${rest}<body name="b" pos="0 0 1">${inside}
  <geom type="box" size=".1 .1 .1"/><body pos="0 0 -.2"><joint name="j" axis="0 1 0"/><geom size=".05"/></body></body></worldbody>`;
const motor = '<actuator><motor joint="j" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>';
test.each([
  ['<joint type="ball"/>', "three slides and a ball joint.*<freejoint/>"],
  ['<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>', "three slides and three hinges"],
])("a base that floats by other joints than a free one is named: %s", async (turns, says) => {
  const slides = ["1 0 0", "0 1 0", "0 0 1"].map((axis) => `<joint type="slide" axis="${axis}"/>`).join("");
  const robot = await robotOf(await loadModel(`${box(`${slides}${turns}`)}${motor}`));
  expect(() => velocityTask("x", robot, { library, model: "./x.xml" })).toThrow(new RegExp(`body "b".*${says}`));
});

test.each([
  ["no-actuators", `${box("<freejoint/>")}</mujoco>`],
  ["no-free-base", `${box("")}${motor}`],
  ["no-ground", `${box("<freejoint/>")}${motor}`],
  ["no-contact", `${box("<freejoint/>", '<geom type="plane" size="1 1 1" contype="2" conaffinity="2"/>')}${motor}`],
])("%s", async (code, xml) => {
  const written = async () => {
    const robot = await robotOf(await loadModel(xml));
    return velocityTask("x", robot, { library, model: "./x.xml" });
  };
  await expect(written()).rejects.toMatchObject({ code });
});
