// the columns of a robot's legs against MuJoCo's kinematics: feet go where they say, level, and only legs that step have a gait
import { expect, test } from "vitest";
import { jointOf, loadModel, type Model } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { gaitOf } from "../../src/scaffold/gait.ts";
import { heldOf } from "../../src/scaffold/held.ts";
import { lackOf } from "../../src/scaffold/mjcf-scene.ts";
import { baseOf, robotOf } from "../../src/scaffold/robot.ts";
import { reachOf } from "../../src/scaffold/stance.ts";
import { touching } from "../../src/scaffold/touching.ts";
import { loadTestModel } from "../support/mjcf.ts";
import { gaitPlace, gaitTilt } from "../support/tolerances.ts";

/** m: columns are straight lines, or parabolas, through places that legs reach a fifth of their length apart. */
const COLUMNS = 10 * gaitPlace.value;

/** Parts of columns: turns cost a little, and a crank turns by more than its knee, or less. */
const LINKED = 0.02;

/** m: levers that tasks have by differences of 1e-5 rad. */
const LEVERS = 1e-4;

/** A knee whose servo is at the hip: a crank and a rod beside thigh and shin, or a gear that turns twice as far the other way. */
const small = '<geom type="sphere" size=".01" mass="1e-5" contype="0" conaffinity="0"/>';
const rods = {
  parts: (y: string) => `<body name="crank${y}"><joint name="crank${y}" axis="0 1 0"/>${small}
    <body name="rod${y}" pos=".06 0 0"><joint name="rod${y}" axis="0 1 0"/>${small}</body></body>`,
  tie: (y: string) => `<connect body1="rod${y}" body2="shin${y}" anchor="0 0 -.4"/>`,
  turns: [0.5, -0.5],
};
const gears = {
  parts: (y: string) => `<body name="crank${y}"><joint name="crank${y}" axis="0 1 0"/>${small}</body>`,
  tie: (y: string) => `<joint joint1="knee${y}" joint2="crank${y}" polycoef="0 -.5 0 0 0"/>`,
  turns: [-1],
};

/**
 * Two legs of hip roll, pitch, knee and ankle, straight or bent, beside each other; frames of feet lie to the left of these, and
 * `lies` is how the chest's lies. Servos of `linked` knees, which are bent by half a rad, are at the hips; hips are `canted` (rad).
 */
const biped = (
  knee = "-2 2",
  {
    bent = 0,
    beside = 0,
    lies = [1, 0, 0, 0],
    toes = "",
    linked = undefined as typeof rods | undefined,
    canted = 0,
  } = {},
) =>
  `<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="0 0 1"/>
  <body name="chest" pos="0 0 .95" quat="${lies.join(" ")}"><freejoint/>
  <body quat="${lies[0]} ${-lies[1]} ${-lies[2]} ${-lies[3]}"><geom type="box" size=".1 .15 .2" pos="0 0 .2" mass="20"/>
  ${[".1", "-.1"]
    .map(
      (y) => `<body pos="0 ${y} 0"><joint name="roll${y}" axis="1 0 0"/><geom type="sphere" size=".04" mass="1"/>
    <body pos="0 ${0.3 * Number(y)} 0"><joint name="hip${y}" axis="0 ${Math.cos(canted)} ${Math.sign(Number(y)) * Math.sin(canted)}"/>${linked?.parts(y) ?? ""}<geom type="capsule" size=".04" fromto="0 0 0 0 0 -.4" mass="3"/>
    <body name="shin${y}" pos="0 0 -.4"><joint name="knee${y}" axis="0 1 0" range="${knee}"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass="2"/>
    <body name="foot${y}" pos="0 ${beside} -.4"><joint name="ankle${y}" axis="0 1 0"/><geom type="box" size=".1 .05 .02" pos=".04 ${-beside} -.05" mass="1"/>
    ${toes}</body></body></body></body>`,
    )
    .join("")}</body></body></worldbody><actuator>${[".1", "-.1"]
    .map((y) =>
      ["roll", "hip", "knee", "ankle"]
        .map(
          (name) => `<position name="${name}${y}" joint="${linked && name === "knee" ? "crank" : name}${y}" kp="300"/>`,
        )
        .join(""),
    )
    .join("")}</actuator>
  <equality>${linked ? [".1", "-.1"].map(linked.tie).join("") : ""}</equality>
  <keyframe><key name="home" qpos="0 0 ${0.15 + 0.8 * Math.cos(bent / 2)} ${lies.join(" ")}${` 0 ${[-bent / 2, ...(linked?.turns ?? []), bent, -bent / 2].join(" ")}`.repeat(2)}"/></keyframe></mujoco>`;

/** How far feet are from where columns put them (m), and how far they tilt, over moves of all kinds. */
async function offOf(model: Model): Promise<{ at: number; tilt: number }> {
  const robot = await robotOf(model);
  const gait = (await gaitOf(robot))!;
  const { body, feet } = baseOf(robot);
  return withMuJoCo(model, (oracle) => {
    const look = (turns: ReadonlyMap<number, number>, foot: number) => {
      const qpos = Float64Array.from(robot.qpos);
      for (const [place, turn] of turns) qpos[place] += turn;
      oracle.write("qpos", qpos);
      oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
      const [xpos, xmat] = [oracle.read("xpos"), oracle.read("xmat")];
      return {
        at: [0, 1, 2].map((k) => xpos[3 * foot + k] - xpos[3 * body + k]),
        up: xmat.slice(9 * foot + 6, 9 * foot + 9),
      };
    };
    let [at, tilt] = [0, 0];
    for (const leg of gait.legs) {
      const places = leg.motors.map((motor) => model.jnt_qposadr[jointOf(model, motor)]);
      const own = feet.find((foot) => Math.sign(look(new Map(), foot).at[1]) === Math.sign(leg.side))!;
      const turned = (by: (i: number) => number) => new Map(places.map((place, i) => [place, leg.shift[i] + by(i)]));
      const stands = look(
        turned(() => 0),
        own,
      );
      for (const x of [-0.1, 0.05, 0.1]) {
        const moved = look(
          turned((i) => leg.ahead[i] * x + leg.bend[i] * x * x),
          own,
        );
        at = Math.max(at, Math.hypot(moved.at[0] - stands.at[0] - x, moved.at[2] - stands.at[2]));
        tilt = Math.max(tilt, Math.hypot(...moved.up.map((u, k) => u - stands.up[k])));
      }
      const lifted = look(
        turned((i) => leg.up[i] * gait.lift),
        own,
      );
      at = Math.max(at, Math.hypot(...lifted.at.map((p, k) => p - stands.at[k] - (k === 2 ? gait.lift : 0))));
      const aside = look(
        turned((i) => leg.left[i] * 0.05),
        own,
      );
      at = Math.max(at, Math.abs(aside.at[1] - stands.at[1] - 0.05));
    }
    return { at, tilt };
  });
}

test.each(["envs/g1", "envs/biped"])("%s: feet are where columns put them, and lie as they lay", async (name) => {
  const { at, tilt } = await offOf(await loadTestModel(name));
  expect(at).toBeLessThan(COLUMNS);
  expect(tilt).toBeLessThan(gaitTilt.value);
});

test("legs that are straight stand lower, so that feet reach ahead", async () => {
  const model = await loadModel(biped());
  const { at } = await offOf(model);
  expect(at).toBeLessThan(COLUMNS);
  const { legs } = (await gaitOf(await robotOf(model)))!;
  // the knee and what it lowers
  for (const { shift } of legs) expect(Math.abs(shift[2])).toBeGreaterThan(0.2);
});

test("legs whose knees are bent nearly to their ends stand higher, so that feet lift", async () => {
  const model = await loadModel(biped("-.1 1.1", { bent: 0.9 }));
  const { at } = await offOf(model);
  expect(at).toBeLessThan(COLUMNS);
  const { legs } = (await gaitOf(await robotOf(model)))!;
  for (const { shift } of legs) expect(shift[2]).toBeLessThan(-0.2);
});

test.each([
  ["a crank and a rod", rods, 1],
  ["a gear", gears, -0.5],
] as const)("knees that servos at the hips turn, by %s, step as others do", async (_, linked, ratio) => {
  const [plain, other] = await Promise.all(
    [undefined, linked].map(async (by) => {
      const robot = await robotOf(await loadModel(biped("-2 2", { bent: 0.5, linked: by })));
      return { ...(await gaitOf(robot))!, held: heldOf(robot, baseOf(robot)) };
    }),
  );
  // they are light, and yet no part that a robot which walks keeps still
  expect(other.held).toEqual(new Set());
  for (const [k, leg] of plain.legs.entries()) {
    expect(other.legs[k].actuators).toEqual(leg.actuators);
    for (const name of ["ahead", "left", "up", "turn", "bend", "shift", "pitch", "roll"] as const)
      leg[name].forEach((x, i) => {
        const off = other.legs[k][name][i] * (i === 2 ? ratio : 1) - x;
        expect(Math.abs(off)).toBeLessThan(LINKED * Math.max(1, Math.abs(x)));
      });
    // a servo of a knee that turns half as far holds it twice as well
    leg.carry.forEach((x, i) => expect(other.legs[k].carry[i] / (i === 2 ? ratio : 1)).toBeCloseTo(x, 3));
  }
});

test("a knee that a rod turns is bent together with its servo where it starts", async () => {
  const drawn = biped("-2 2", { linked: rods }).replace(/<keyframe>.*<\/keyframe>/, "");
  const model = await loadModel(drawn);
  const { qpos, knees } = (await lackOf(await robotOf(model), "velocity"))!.bent!;
  expect(knees).toEqual(["knee.1", "knee-.1"]);
  const at = (name: string) => qpos[model.jnt_qposadr[model.names.joint.indexOf(name)]];
  for (const y of [".1", "-.1"]) {
    expect(at(`knee${y}`)).toBeCloseTo(0.7, 6);
    expect([at(`crank${y}`), at(`rod${y}`)]).toEqual([expect.closeTo(0.7, 6), expect.closeTo(-0.7, 6)]);
  }
});

test("rods that are not quite in a plane, as rounded numbers have them, bend as others do", async () => {
  const drawn = biped("-2 2", { linked: rods }).replace(/<keyframe>.*<\/keyframe>/, "");
  const model = await loadModel(drawn.replaceAll(/(name="rod[^>]*axis=")0/g, "$1.001"));
  const { qpos, knees } = (await lackOf(await robotOf(model), "velocity"))!.bent!;
  expect(knees).toEqual(["knee.1", "knee-.1"]);
  expect(qpos[model.jnt_qposadr[model.names.joint.indexOf("crank.1")]]).toBeCloseTo(0.7, 3);
});

test("a loop that nothing which follows can close is not taken for closed", async () => {
  const stuck = biped("-2 2", { linked: rods })
    .replaceAll(/(name="crank[^>]*axis="0 1 0")/g, '$1 stiffness="1"')
    .replaceAll('anchor="0 0 -.4"', 'anchor="0 0 0"')
    .replace(/<keyframe>.*<\/keyframe>/, "");
  expect(await lackOf(await robotOf(await loadModel(stuck)), "velocity")).toBeUndefined();
});

test("hips that are canted by 25 degrees are above knees too", async () => {
  const model = await loadModel(biped("-.2 2.4", { canted: 0.44 }));
  const { at } = await offOf(model);
  expect(at).toBeLessThan(COLUMNS);
});

test("bodies that are no part of a robot say nothing of how tall it is", async () => {
  const marker = "</body></body></worldbody>".replace(
    "</worldbody>",
    '<body pos="0 0 20"><joint/><geom size=".1"/></body></worldbody>',
  );
  const [one, other] = await Promise.all(
    [biped(), biped().replace("</body></body></worldbody>", marker)].map(async (xml) => robotOf(await loadModel(xml))),
  );
  expect(other.span).toBe(one.span);
});

test("legs are as far to the side as what their feet stand on", async () => {
  const { legs } = (await gaitOf(await robotOf(await loadModel(biped("-2 2", { beside: 0.05 })))))!;
  expect(legs.map(({ side }) => side)).toEqual([expect.closeTo(0.13, 6), expect.closeTo(-0.13, 6)]);
});

test.each([0, 1.2])(
  "a base whose frame lies has the gait of one that stands upright, turned by %s rad",
  async (yaw) => {
    const [plain, lying] = await Promise.all(
      [
        [1, 0, 0, 0],
        [0.5, -0.5, -0.5, -0.5],
      ].map((lies) => loadModel(biped("-2 2", { bent: 0.5, lies }))),
    );
    const [c, s] = [Math.cos(yaw / 2), Math.sin(yaw / 2)];
    lying.key_qpos.set([0.5 * (c + s), -0.5 * (c - s), -0.5 * (c + s), -0.5 * (c - s)], 3);
    const [one, other] = await Promise.all([plain, lying].map(async (model) => (await gaitOf(await robotOf(model)))!));
    for (const [k, leg] of one.legs.entries())
      for (const name of ["ahead", "left", "up", "turn", "bend", "carry", "pitch", "roll"] as const)
        leg[name].forEach((x, i) => expect(other.legs[k][name][i]).toBeCloseTo(x, 4));
  },
);

test("a servo that is geared to a hip turns by its gear more, against the tilt too", async () => {
  const geared = (y: string, of: number) => (xml: string) =>
    xml
      .replace(
        '<geom type="box" size=".1 .15 .2"',
        `<body pos="0 ${y} .1"><joint name="gear${y}" axis="0 1 0"/><geom size=".02" mass=".1" contype="0" conaffinity="0"/></body>$&`,
      )
      .replace(`joint="hip${y}"`, `joint="gear${y}"`)
      .replace("</equality>", `<joint joint1="hip${y}" joint2="gear${y}" polycoef="0 ${1 / of} 0 0 0"/>$&`)
      .replace(/<keyframe>[^]*<\/keyframe>/, "");
  const plain = await loadModel(biped("-2 2", { bent: 0 }).replace(/<keyframe>[^]*<\/keyframe>/, ""));
  const model = await loadModel([".1", "-.1"].reduce((xml, y) => geared(y, 4)(xml), biped("-2 2", { bent: 0 })));
  const [one, other] = await Promise.all([plain, model].map(async (m) => (await gaitOf(await robotOf(m)))!));
  for (const [k, leg] of one.legs.entries()) {
    expect(leg.pitch).toEqual([0, 1, 0, 0]);
    other.legs[k].pitch.forEach((x, i) => expect(x).toBeCloseTo(4 * leg.pitch[i], 4));
    expect(other.legs[k].ahead[1]).toBeCloseTo(4 * leg.ahead[1], 1);
  }
});

test("toes that hang from a foot whose heel stands are left alone", async () => {
  const toes = '<body pos=".14 0 -.05"><joint axis="0 1 0" range="-1 1"/><geom type="box" size=".03 .05 .02"/></body>';
  const model = await loadModel(biped("-2 2", { bent: 0.5, toes }));
  const { legs } = (await gaitOf(await robotOf(model)))!;
  expect(legs.map(({ actuators }) => actuators.length)).toEqual([4, 4]);
});

test("servos aim beyond a leg by what it carries, whichever side it is on", async () => {
  const { legs } = (await gaitOf(await robotOf(await loadModel(biped()))))!;
  const [left, right] = legs;
  expect(left.side).toBeGreaterThan(0);
  expect(right.side).toBeLessThan(0);
  expect(left.actuators).toEqual(["roll.1", "hip.1", "knee.1", "ankle.1"]);
  // hips give outwards, each its own way, knees as each other
  expect(Math.abs(left.carry[0])).toBeGreaterThan(0.005);
  expect(left.carry[0]).toBeCloseTo(-right.carry[0], 4);
  expect(left.carry[2]).toBeCloseTo(right.carry[2], 4);
});

test("a leg that stands alone holds what goes from its foot through the mass", async () => {
  const model = await loadTestModel("envs/biped");
  const robot = await robotOf(model);
  const { legs } = (await gaitOf(robot))!;
  const { body, feet } = baseOf(robot);
  await withMuJoCo(model, (oracle) => {
    const pose = (qpos: readonly number[]) => {
      oracle.write("qpos", qpos);
      oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
      oracle.mujoco.mj_comPos(oracle.model, oracle.data);
    };
    const vector = (name: string, id: number) => Array.from(oracle.read(name).slice(3 * id, 3 * id + 3));
    const weight = robot.mass * 9.81;
    const middleOf = (foot: number) => {
      const places = { geom_xpos: oracle.read("geom_xpos"), geom_xmat: oracle.read("geom_xmat") };
      const own = touching(model, foot);
      return [0, 1, 2].map((axis) => {
        const ends = [false, true].map((along) =>
          own.map((g) => places.geom_xpos[3 * g + axis] + (along ? 1 : -1) * reachOf(model, g, places, axis, along)),
        );
        return (Math.min(...ends[0]) + Math.max(...ends[1])) / 2;
      });
    };
    for (const leg of legs) {
      pose(robot.qpos);
      const own = feet.find((id) => Math.sign(vector("xpos", id)[1]) === Math.sign(leg.side))!;
      const from = vector("subtree_com", body).map((x, k) => x - vector("xpos", own)[k]);
      const side = (weight * from[1]) / from[2];
      // columns are about where legs stand
      const stance = [...robot.qpos];
      leg.motors.forEach((motor, i) => (stance[model.jnt_qposadr[jointOf(model, motor)]] += leg.shift[i]));
      pose(stance);
      const foot = vector("xpos", own);
      leg.motors.forEach((motor, i) => {
        if (leg.carry[i] === 0) return;
        const joint = jointOf(model, motor);
        const [axis, anchor] = [vector("xaxis", joint), vector("xanchor", joint)];
        // what an ankle holds up is over the middle of its sole, and nothing pushes it to the side
        const isAnkle = anchor[2] - foot[2] < 0.1;
        const [x, y, z] = (isAnkle ? middleOf(own) : foot).map((p, k) => p - anchor[k]);
        const aside = isAnkle ? 0 : side;
        const torque = -(axis[0] * (y * weight - z * aside) - axis[1] * x * weight + axis[2] * x * aside);
        const stiffness = robot.motors[motor].servo?.stiffness ?? model.actuator_gainprm[10 * motor];
        expect(Math.abs((leg.carry[i] * stiffness) / (weight * 0.7) - torque / weight)).toBeLessThan(LEVERS);
      });
      const roll = leg.actuators.findIndex((name) => /hip_roll/.test(name));
      // the hip holds the pelvis up on the side of the leg that swings
      expect(Math.abs(leg.carry[roll])).toBeGreaterThan(0.05);
    }
  });
});

test("an ankle behind the middle of its sole pushes toes down, by the weight over their distance", async () => {
  const robot = await robotOf(await loadModel(biped("-2 2", { bent: 0.7 })));
  const { legs } = (await gaitOf(robot))!;
  // the middle of the box lies 0.04 m ahead of the hinge
  for (const { carry } of legs) expect(carry[3]).toBeCloseTo((0.7 * 0.04 * robot.mass * 9.81) / 300, 3);
});

test("a robot of four legs, or of two that cannot lift a foot, has none", async () => {
  expect(await gaitOf(await robotOf(await loadTestModel("envs/go1")))).toBeUndefined();
  expect(await gaitOf(await robotOf(await loadModel(biped("-.02 .02"))))).toBeUndefined();
});
