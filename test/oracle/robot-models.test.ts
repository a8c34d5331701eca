// models of robots against the public ones that their numbers are of: what moves them, by the names of bodies and joints
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { idOf, loadModel, type Model, type ObjectKind } from "../../src/model/model.ts";

const at = (path: string) => new URL(path, import.meta.url);
/** Public models, which are not part of the repository; CORRAL_REFERENCE names another folder of them. */
const references = process.env.CORRAL_REFERENCE ?? fileURLToPath(at("../../../shared/reference"));

interface Row {
  readonly field: string;
  readonly kind: ObjectKind;
  readonly width: number;
}
const BODIES: readonly Row[] = ["body_mass", "body_ipos", "body_pos", "body_quat"].map((field) => ({
  field,
  kind: "body",
  width: { body_mass: 1, body_quat: 4 }[field] ?? 3,
}));
const JOINTS: readonly Row[] = [
  { field: "jnt_range", kind: "joint", width: 2 },
  { field: "jnt_axis", kind: "joint", width: 3 },
];
const FORCE: Row = { field: "actuator_forcerange", kind: "actuator", width: 2 };
const CONTROL: Row = { field: "actuator_ctrlrange", kind: "actuator", width: 2 };

const rowOf = (model: Model, { field, kind, width }: Row, name: string): number[] => {
  const id = idOf(model, kind, name);
  const values = model[field as "body_mass"];
  return Array.from(values.slice(id * width, (id + 1) * width));
};

/** The inertia of a body in its own axes: its principal axes may be named in another order. */
function inertia(model: Model, name: string): number[] {
  const moments = rowOf(model, { field: "body_inertia", kind: "body", width: 3 }, name);
  const [w, x, y, z] = rowOf(model, { field: "body_iquat", kind: "body", width: 4 }, name);
  const axes = [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
  return axes.flatMap((a) => axes.map((b) => moments.reduce((sum, m, k) => sum + m * a[k] * b[k], 0)));
}

/** What bodies and joints move as, without the meshes that show them. */
const withoutMeshes = (file: string): string =>
  readFileSync(file, "utf8")
    .replaceAll(/<geom\b[^>]*\bmesh="[^>]*?(\/>|>\s*<\/geom>)/g, "")
    .replaceAll(/<mesh\b[^>]*?(\/>|>\s*<\/mesh>)/g, "");

interface Held {
  readonly model: string;
  readonly reference: string;
  readonly bodies: readonly string[];
  readonly joints: readonly string[];
  readonly bodyOf: (name: string) => string;
  /** Torques are those of the reference's motors, or of its servos. */
  readonly torque: Row;
}

const LEGS = ["FR", "FL", "RR", "RL"].flatMap((leg) => ["hip", "thigh", "calf"].map((part) => `${leg}_${part}`));
const LEG = ["hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"];
const ARM = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow_pitch"];
const SIDES = ["left", "right"].flatMap((side) => [...LEG, ...ARM].map((part) => `${side}_${part}`));

const ROBOTS: readonly Held[] = [
  {
    model: "go1",
    reference: "mujoco_playground/go1_mjx_feetonly.xml",
    bodies: ["trunk", ...LEGS],
    joints: LEGS,
    bodyOf: (name) => name,
    torque: FORCE,
  },
  {
    model: "g1",
    reference: "loco-mujoco/unitree_g1/g1.xml",
    bodies: ["pelvis", "torso", ...SIDES],
    joints: ["torso", ...SIDES, "left_elbow_roll", "right_elbow_roll"],
    bodyOf: (name) => (name === "pelvis" ? name : `${name}_link`),
    torque: CONTROL,
  },
];

test.each(ROBOTS)(
  "$model has the masses, places, ranges and torques of $reference (skipped where ../shared is absent)",
  async ({ model, reference, bodies, joints, bodyOf, torque }) => {
    const file = `${references}/${reference}`;
    if (!existsSync(file)) return;
    const [ours, theirs] = [await loadModel(at(`../../envs/${model}/model.xml`)), await loadModel(withoutMeshes(file))];
    for (const name of bodies) {
      const [own, want] = [inertia(ours, name), inertia(theirs, bodyOf(name))];
      expect([name, ...own]).toEqual([name, ...want.map((x) => expect.closeTo(x, 8))]);
      for (const row of BODIES) {
        // where the base starts is the task's
        if (name === bodies[0] && row.field === "body_pos") continue;
        const want = rowOf(theirs, row, bodyOf(name)).map((x) => expect.closeTo(x, 6));
        expect([name, row.field, ...rowOf(ours, row, name)]).toEqual([name, row.field, ...want]);
      }
    }
    for (const name of joints) {
      for (const row of JOINTS) {
        const want = rowOf(theirs, row, `${name}_joint`).map((x) => expect.closeTo(x, 6));
        expect([name, row.field, ...rowOf(ours, row, name)]).toEqual([name, row.field, ...want]);
      }
      const actuator = model === "go1" ? name : `${name}_joint`;
      expect([name, ...rowOf(ours, FORCE, name)]).toEqual([name, ...rowOf(theirs, torque, actuator)]);
    }
  },
);
