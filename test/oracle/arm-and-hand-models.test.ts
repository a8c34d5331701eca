// the Panda-like arm and the LEAP-like hand against MuJoCo's own: what moves them, by the names of bodies, joints and actuators
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { poseOf } from "../../envs/panda/kinematics.ts";
import { ARM } from "../../envs/panda/shared.ts";
import { idOf, loadModel, type Model } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";

const at = (path: string) => new URL(path, import.meta.url);
const reference = (path: string) => at(`../../../shared/reference/${path}`);
const numbered = (name: string, n: number) => Array.from({ length: n }, (_, i) => `${name}${i + 1}`);
const joined = (places: readonly string[], parts: readonly string[]) =>
  places.flatMap((place) => parts.map((part) => `${place}_${part}`));

const KINDS = ["body", "joint", "actuator"] as const;
/** How many numbers of a field both models have, of each thing. */
const WIDTHS: Readonly<Record<(typeof KINDS)[number], Readonly<Record<string, number>>>> = {
  body: { body_mass: 1, body_inertia: 3, body_ipos: 3, body_iquat: 4, body_pos: 3, body_quat: 4 },
  joint: { jnt_range: 2, jnt_axis: 3, jnt_pos: 3, jnt_actfrcrange: 2 },
  actuator: { actuator_gainprm: 3, actuator_biasprm: 3, actuator_ctrlrange: 2 },
};
const COUNTS = { body: "nbody", joint: "njnt", actuator: "nu" } as const;

const FINGERS = joined(["if", "mf", "rf"], ["mcp", "rot", "pip", "dip"]);
const HAND = [...FINGERS, ...joined(["th"], ["cmc", "axl", "mcp", "ipl"])];
const CASES = [
  {
    ours: "../../envs/panda/model.xml",
    theirs: "mujoco_menagerie/franka_emika_panda/mjx_panda.xml",
    body: [...numbered("link", 7), "hand", "left_finger", "right_finger"],
    joint: [...numbered("joint", 7), "finger_joint1", "finger_joint2"],
    actuator: numbered("actuator", 8),
    suffix: "",
  },
  {
    ours: "../../envs/hand/model.xml",
    theirs: "mujoco_playground/leap_rh_mjx.xml",
    body: [
      "palm",
      ...joined(["if", "mf", "rf"], ["bs", "px", "md", "ds"]),
      ...joined(["th"], ["mp", "bs", "px", "ds"]),
    ],
    joint: HAND,
    actuator: HAND,
    suffix: "_act",
  },
];

/** How finely their files write numbers down, such as 0.0361 as 0.03609 and halves as 0.500003, in parts of the largest beside it. */
const WRITTEN = 5e-4;

function rowOf(model: Model, kind: (typeof KINDS)[number], field: string, width: number, name: string): number[] {
  const [values, id] = [model[field as "body_mass"], idOf(model, kind, name)];
  const stride = values.length / model[COUNTS[kind]];
  return Array.from(values.slice(id * stride, id * stride + width));
}

/** A quaternion and its negative are one. */
const signed = (row: number[], like: number[]) =>
  row.reduce((sum, x, i) => sum + x * like[i], 0) < 0 && row.length === 4 ? row.map((x) => -x) : row;

for (const one of CASES) {
  const file = reference(one.theirs);
  test.skipIf(!existsSync(file))(
    `${one.ours} has the numbers of ${one.theirs} (skipped where ../shared is absent)`,
    async () => {
      // inertias are given: what it looks like is left out
      const text = readFileSync(file, "utf8").replaceAll(/<mesh\b[^>]*\/>|<geom\b[^>]*\bmesh\b[^>]*\/>/g, "");
      const [ours, theirs] = [await loadModel(at(one.ours)), await loadModel(text)];
      for (const kind of KINDS)
        for (const name of one[kind])
          for (const [field, width] of Object.entries(WIDTHS[kind])) {
            const a = rowOf(ours, kind, field, width, name);
            const b = rowOf(theirs, kind, field, width, kind === "actuator" ? `${name}${one.suffix}` : name);
            const most = WRITTEN * Math.max(...b.map(Math.abs));
            const off = signed(a, b).map((x, i) => Math.abs(x - b[i]));
            expect({ name, field, a, b, near: off.every((d) => d <= most) }).toMatchObject({ near: true });
          }
      for (const field of ["dof_damping", "dof_armature", "dof_frictionloss"] as const) {
        const dofs = (m: Model) => one.joint.map((name) => m[field][m.jnt_dofadr[idOf(m, "joint", name)]]);
        expect(dofs(ours)).toEqual(dofs(theirs));
      }
    },
  );
}

test("the arm's own kinematics are MuJoCo's", async () => {
  const model = await loadModel(at("../../envs/panda/model.xml"));
  const q = [0.4, 0.3, -0.5, -1.8, 0.6, 2.1, -0.9];
  const { at: place, frame, hinges } = poseOf(model, ARM, "gripper", q);
  await withMuJoCo(model, (oracle) => {
    oracle.write("qpos", [...q, 0.04, 0.04]);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    const same = (ours: readonly unknown[], theirs: ArrayLike<number>) =>
      expect(ours).toEqual(Array.from(theirs, (x) => expect.closeTo(x, 9)));
    same(place, oracle.read("site_xpos"));
    same(frame, oracle.read("site_xmat"));
    for (const [field, key] of [
      ["xaxis", "axis"],
      ["xanchor", "anchor"],
    ] as const)
      same(
        hinges.flatMap((hinge) => [...hinge[key]]),
        oracle.read(field).slice(0, 21),
      );
  });
});
