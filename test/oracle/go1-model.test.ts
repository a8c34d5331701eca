// the Go1-like model against that of MuJoCo Playground: what moves it, by the names of bodies and joints
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { idOf, loadModel, type Model, type ObjectKind } from "../../src/model/model.ts";

const at = (path: string) => new URL(path, import.meta.url);
const file = at("../../../shared/reference/mujoco_playground/go1_mjx_feetonly.xml");
const LEGS = ["FR", "FL", "RR", "RL"];
const PARTS = ["hip", "thigh", "calf"];

type Row = { readonly field: string; readonly kind: ObjectKind; readonly width: number };
const BODIES: readonly Row[] = ["body_mass", "body_inertia", "body_ipos", "body_iquat", "body_pos"].map((field) => ({
  field,
  kind: "body",
  width: { body_mass: 1, body_iquat: 4 }[field] ?? 3,
}));

const rowOf = (model: Model, { field, kind, width }: Row, name: string): number[] => {
  const id = idOf(model, kind, name);
  const values = model[field as "body_mass"];
  return Array.from(values.slice(id * width, (id + 1) * width));
};

test.skipIf(!existsSync(file))(
  "has the masses, places, ranges and torques of Playground's Go1 (skipped where ../shared is absent)",
  async () => {
    const [ours, theirs] = [await loadModel(at("../../envs/go1/model.xml")), await loadModel(file)];
    const bodies = ["trunk", ...LEGS.flatMap((leg) => PARTS.map((part) => `${leg}_${part}`))];
    for (const name of bodies)
      for (const row of BODIES)
        expect([name, row.field, ...rowOf(ours, row, name)]).toEqual([
          name,
          row.field,
          ...rowOf(theirs, row, name).map((x) => expect.closeTo(x, 9)),
        ]);
    const range: Row = { field: "jnt_range", kind: "joint", width: 2 };
    const force: Row = { field: "actuator_forcerange", kind: "actuator", width: 2 };
    for (const name of LEGS.flatMap((leg) => PARTS.map((part) => `${leg}_${part}`))) {
      expect([name, ...rowOf(ours, range, name)]).toEqual([name, ...rowOf(theirs, range, `${name}_joint`)]);
      expect([name, ...rowOf(ours, force, name)]).toEqual([name, ...rowOf(theirs, force, name)]);
    }
    const foot: Row = { field: "geom_size", kind: "geom", width: 3 };
    for (const leg of LEGS) expect(rowOf(ours, foot, `${leg}_foot`)[0]).toBe(rowOf(theirs, foot, leg)[0]);
  },
);
