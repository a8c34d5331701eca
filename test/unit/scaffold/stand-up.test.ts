// what has four legs or more and is drawn lying starts in a pose in which it stands
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { bentOf } from "../../../src/scaffold/bent.ts";
import { floatingBody } from "../../../src/scaffold/planar.ts";
import { standingPose } from "../../../src/scaffold/stand-up.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-stand-up-");

const RADIUS = 0.015;

interface Drawn {
  readonly size: number;
  readonly thigh: number;
  readonly shin: number;
  /** rad that knees turn to one side, and to the other. */
  readonly knee: readonly [number, number];
}

/** Legs in a ring that are stretched out on the floor: hips that turn about the vertical, about the leg's side, and knees. */
const insect = (legs: number, { size, thigh, shin, knee }: Drawn): string =>
  Array.from({ length: legs }, (_, i) => {
    const angle = (2 * Math.PI * (i + 0.5)) / legs;
    return `<body name="hip${i}" euler="0 0 ${angle}"><joint name="yaw${i}" axis="0 0 1" range="-.8 .8"/>
      <geom type="sphere" size="${RADIUS}" mass=".1" contype="0" conaffinity="0"/>
      <body name="thigh${i}" pos="${size} 0 0"><joint name="lift${i}" axis="0 1 0" range="-1.6 1.6"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${thigh} 0 0" mass=".2"/>
      <body name="shin${i}" pos="${thigh} 0 0"><joint name="knee${i}" axis="0 1 0" range="${-knee[0]} ${knee[1]}"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${shin} 0 0" mass=".1"/></body></body></body>`;
  }).join("");

/** Legs at corners, their thighs and shins along the trunk: hips that turn inwards and ahead, and knees. */
const dog = ({ size, thigh, shin, knee }: Drawn, [along, across, up] = [0, 1, 2]): string =>
  [-1, 1]
    .flatMap((x) => [-1, 1].map((y) => [x, y]))
    .map(([x, y], i) => {
      const at = (a: number, b: number, c: number) => {
        const v = [0, 0, 0];
        [v[along], v[across], v[up]] = [a, b, c];
        return v.join(" ");
      };
      return `<body name="hip${i}" pos="${at(1.5 * size * x, size * y, 0)}"><joint name="roll${i}" axis="${at(1, 0, 0)}" range="-.5 .5"/>
      <geom type="sphere" size="${RADIUS}" mass=".1" contype="0" conaffinity="0"/>
      <body name="thigh${i}"><joint name="lift${i}" axis="${at(0, 1, 0)}" range="-.5 3.6"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${at(thigh, 0, 0)}" mass=".2"/>
      <body name="shin${i}" pos="${at(thigh, 0, 0)}"><joint name="knee${i}" axis="${at(0, 1, 0)}" range="${-knee[0]} ${knee[1]}"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${at(shin, 0, 0)}" mass=".1"/></body></body></body>`;
    })
    .join("");

const robot = (
  legs: string,
  { size }: Drawn,
  trunk = `<geom type="box" size="${size} ${0.7 * size} ${size / 3}" mass="3"/>`,
): string => `<mujoco><compiler angle="radian" eulerseq="xyz"/><option integrator="implicitfast"/><worldbody>
  <geom type="plane" size="0 0 1"/><body name="trunk" pos="0 0 ${size}"><freejoint name="root"/>
  ${trunk}${legs}</body></worldbody>
  <actuator>${[...legs.matchAll(/joint name="(\w+)"/g)].map(([, name]) => `<position joint="${name}" kp="60" kv="2"/>`).join("")}</actuator></mujoco>`;

const poseOf = (model: Model) => standingPose(model, floatingBody(model)!);

/** How far ends of shins are from level, and the trunk is over them (m), by MuJoCo; and whether joints are within their ranges. */
const looked = (model: Model, qpos: readonly number[], shin: number, ahead: readonly number[] = [1, 0, 0]) =>
  withMuJoCo(model, (oracle) => {
    oracle.write("qpos", qpos);
    oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
    const [xpos, xmat] = [oracle.read("xpos"), oracle.read("xmat")];
    const shins = model.names.body.flatMap((name, b) => (name?.startsWith("shin") ? [b] : []));
    const ends = shins.map(
      (b) => xpos[3 * b + 2] + shin * ahead.reduce((sum, x, k) => sum + x * xmat[9 * b + 6 + k], 0),
    );
    const isWithin = Array.from({ length: model.njnt }, (_, j) => j)
      .filter((j) => model.jnt_limited[j] > 0)
      .every((j) => {
        const q = qpos[model.jnt_qposadr[j]];
        return q >= model.jnt_range[2 * j] && q <= model.jnt_range[2 * j + 1];
      });
    return {
      uneven: Math.max(...ends) - Math.min(...ends),
      height: xpos[5] - Math.max(...ends),
      up: xmat[9 + 8],
      isWithin,
    };
  });

const drawn = fc.record({
  size: fc.double({ min: 0.05, max: 0.15, noNaN: true }),
  thigh: fc.double({ min: 0.1, max: 0.3, noNaN: true }),
  shin: fc.double({ min: 0.1, max: 0.3, noNaN: true }),
  knee: fc
    .tuple(fc.integer({ min: 12, max: 26 }), fc.integer({ min: 0, max: 26 }))
    .map(([a, b]) => [a / 10, b / 10] as const),
});

test("robots of four to eight legs that lie as they are drawn stand on feet that are level", async () => {
  const of = fc.oneof(
    fc.integer({ min: 4, max: 8 }).map((legs) => (d: Drawn) => insect(legs, d)),
    fc.constant((d: Drawn) => dog(d)),
  );
  await fc.assert(
    fc.asyncProperty(of, drawn, async (legs, d) => {
      // a shin that only goes up from the thigh, or is much shorter, may have no such pose
      fc.pre(d.shin > 0.6 * d.thigh && d.shin < 1.6 * d.thigh);
      const model = await loadModel(robot(legs(d), d));
      const qpos = await poseOf(model);
      expect(qpos).toBeDefined();
      const { uneven, height, up, isWithin } = await looked(model, qpos!, d.shin);
      expect([up > 0.999, isWithin]).toEqual([true, true]);
      expect(uneven).toBeLessThan(0.03 * (d.thigh + d.shin));
      expect(height).toBeGreaterThan(0.25 * (d.thigh + d.shin));
    }),
    { numRuns: 6, endOnFailure: true },
  );
});

const USUAL: Drawn = { size: 0.12, thigh: 0.2, shin: 0.2, knee: [2.4, 2.4] };

test.for(["", ` quat="1 0 1 0"`])(
  "one drawn with y up, as some programs do, is put up from %j, its hips along x",
  async (turn) => {
    // along z, across x, up y: legs hang from the trunk along -y
    const hanging = dog(USUAL, [2, 0, 1]).replaceAll(/fromto="0 0 0 ([^"]+)"/g, `fromto="0 0 0 0 -0.2 0"`);
    const legs = hanging.replaceAll(`pos="0 0 0.2"`, `pos="0 -0.2 0"`).replaceAll(`"-.5 3.6"`, `"-1.6 1.6"`);
    const model = await loadModel(robot(legs, USUAL).replace(`name="trunk"`, `name="trunk"${turn}`));
    const qpos = (await poseOf(model))!;
    expect(qpos).toBeDefined();
    const { uneven, height, isWithin } = await looked(model, qpos, USUAL.shin, [0, -1, 0]);
    expect(isWithin).toBe(true);
    expect(uneven).toBeLessThan(0.02);
    expect(height).toBeGreaterThan(0.15);
    // its z goes along x of the world, its y up
    await withMuJoCo(model, (oracle) => {
      oracle.write("qpos", qpos);
      oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
      const xmat = oracle.read("xmat");
      expect(Math.abs(xmat[9 + 2])).toBeCloseTo(1, 6);
      expect(xmat[9 + 7]).toBeCloseTo(1, 6);
    });
  },
);

/** Two legs, and two arms of as many hinges and as long, whose thighs and shins go as `way` has it, from shoulders at `height` (m). */
const person = (height: number, way: string): string => {
  const limb = (name: string, x: number, y: number, z: number, to: string) =>
    `<body name="hip${name}" pos="${x} ${y} ${z}"><joint name="roll${name}" axis="1 0 0" range="-.7 .7"/>
      <geom type="sphere" size="${RADIUS}" mass=".1" contype="0" conaffinity="0"/>
      <body name="thigh${name}"><joint name="lift${name}" axis="0 1 0" range="-2 2"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${to}" mass=".2"/>
      <body name="shin${name}" pos="${to}"><joint name="knee${name}" axis="0 1 0" range="-2.3 2.3"/>
      <geom type="capsule" size="${RADIUS}" fromto="0 0 0 ${to}" mass=".1"/></body></body></body>`;
  return [-1, 1]
    .map((y, i) => limb(`leg${i}`, 0, 0.1 * y, 0, "0 0 -.3") + limb(`arm${i}`, 0.15, 0.2 * y, height, way))
    .join("");
};

test("what stands on two legs, with arms alike them, is left alone, wherever its arms are", async () => {
  const trunk = `<geom type="box" size=".12 .1 .1" pos=".08 0 .12" mass="5"/>`;
  for (const limbs of [person(0.15, "0 0 -.3"), person(0.4, ".3 0 0")])
    expect(await poseOf(await loadModel(robot(limbs, USUAL, trunk)))).toBeUndefined();
});

test("what its joints' ranges have stand, and only its drawing not, starts there; others within ranges too", async () => {
  // Gymnasium's ant is drawn with legs stretched out, 0.52 rad out of the range of its ankles
  const ant = await loadModel(fileURLToPath(new URL("../../../envs/ant/model.xml", import.meta.url)));
  const bent = await bentOf(ant, []);
  expect([bent!.joints.length, bent!.stands]).toEqual([4, undefined]);

  const tail = `<body name="tail" pos="0 0 .1"><joint name="tail" axis="0 1 0" range=".5 1"/><geom size=".01" mass=".01"/></body>`;
  const model = await loadModel(robot(insect(4, USUAL) + tail, USUAL));
  const { stands, qpos } = (await bentOf(model, []))!;
  expect(stands).toBe(true);
  expect(qpos.at(-1)).toBeGreaterThanOrEqual(0.5);
});

test("what stands as it is drawn, has two legs, or knees that cannot lower its feet, is left alone", async () => {
  const standing = dog(USUAL)
    .replaceAll(/fromto="0 0 0 0.2 0 0"/g, `fromto="0 0 0 0 0 -0.2"`)
    .replaceAll(`pos="0.2 0 0"`, `pos="0 0 -0.2"`);
  const flat = insect(4, USUAL)
    .replaceAll(/range="-1.6 1.6"/g, `range="-.05 .05"`)
    .replaceAll(/range="-2.4 2.4"/g, `range="-.05 .05"`);
  for (const legs of [standing, insect(2, USUAL), flat])
    expect(await poseOf(await loadModel(robot(legs, USUAL)))).toBeUndefined();
});

test("what has its mass only just behind its front feet stands elsewhere", async () => {
  const legs = dog(USUAL)
    .replaceAll(/fromto="0 0 0 0.2 0 0"/g, `fromto="0 0 0 0 0 -0.2"`)
    .replaceAll(`pos="0.2 0 0"`, `pos="0 0 -0.2"`);
  const load = (x: number) =>
    loadModel(robot(legs, USUAL, `<geom type="box" size="0.1 0.07 0.03" pos="${x} 0 0" mass="6"/>`));
  // feet are 0.15 m ahead of the middle; 0.15 rad of 0.4 m are 6 cm
  expect(await poseOf(await load(0.04))).toBeUndefined();
  const ahead = await load(0.17);
  const pose = (await poseOf(ahead))!;
  expect(pose).toBeDefined();
  expect((await looked(ahead, pose, USUAL.shin)).uneven).toBeLessThan(0.02);
});

test("a hexapod's MJCF gets a scene in which it stands, and stays up without action", async () => {
  writeFileSync(join(folder, "hexapod.xml"), robot(insect(6, USUAL), USUAL));
  const { code, stdout } = await cli.run("new-task", "six", "--robot", "hexapod.xml");
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining(`does not stand: in "home", which the scene has, it does`),
  ]);
  const model = await loadModel(join(folder, "six.xml"));
  const qpos = Array.from(model.key_qpos.subarray(0, model.nq));
  expect((await looked(model, qpos, USUAL.shin)).height).toBeGreaterThan(0.12);
  expect(await endedWithoutAction(join(folder, "six.mts"), 200)).toBe(0);
});
