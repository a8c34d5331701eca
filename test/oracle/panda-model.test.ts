// the Panda-like arm against that of MuJoCo Menagerie: what moves it, by the names of bodies, joints and actuators
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { idOf, loadModel, type Model, type ObjectKind } from "../../src/model/model.ts";

const at = (path: string) => new URL(path, import.meta.url);
const file = at("../../../shared/reference/mujoco_menagerie/franka_emika_panda/mjx_panda.xml");

/** Numbers of a thing that both models have, and how many there are. */
const WIDTHS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  body: { body_mass: 1, body_inertia: 3, body_ipos: 3, body_iquat: 4, body_pos: 3, body_quat: 4 },
  joint: { jnt_range: 2, jnt_axis: 3, jnt_pos: 3 },
  actuator: { actuator_gainprm: 3, actuator_biasprm: 3, actuator_ctrlrange: 2 },
};

const numbered = (name: string, n: number) => Array.from({ length: n }, (_, i) => `${name}${i + 1}`);
const NAMES: Readonly<Record<string, readonly string[]>> = {
  body: [...numbered("link", 7), "hand", "left_finger", "right_finger"],
  joint: [...numbered("joint", 7), "finger_joint1", "finger_joint2"],
  actuator: numbered("actuator", 8),
};

const rowOf = (model: Model, field: string, width: number, id: number): number[] => {
  const values = model[field as "body_mass"];
  const stride = values.length / model[field.startsWith("body") ? "nbody" : field.startsWith("jnt") ? "njnt" : "nu"];
  return Array.from(values.slice(id * stride, id * stride + width));
};

test.skipIf(!existsSync(file))(
  "has the masses, places, ranges and gains of Menagerie's Panda (skipped where ../shared is absent)",
  async () => {
    // inertias are given: what it looks like is left out
    const text = readFileSync(file, "utf8").replaceAll(/<mesh\b[^>]*\/>|<geom\b[^>]*\bmesh\b[^>]*\/>/g, "");
    const theirs = await loadModel(text);
    const ours = await loadModel(at("../../envs/panda/model.xml"));
    for (const [kind, names] of Object.entries(NAMES))
      for (const name of names)
        for (const [field, width] of Object.entries(WIDTHS[kind])) {
          const [a, b] = [ours, theirs].map((m) => rowOf(m, field, width, idOf(m, kind as ObjectKind, name)));
          expect([name, field, ...a]).toEqual([name, field, ...b.map((x) => expect.closeTo(x, 9))]);
        }
    const dofs = (m: Model, field: "dof_damping" | "dof_armature") =>
      NAMES.joint.map((name) => m[field][m.jnt_dofadr[idOf(m, "joint", name)]]);
    for (const field of ["dof_damping", "dof_armature"] as const)
      expect(dofs(ours, field)).toEqual(dofs(theirs, field));
  },
);
