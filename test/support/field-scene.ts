// a height field and one convex geom at poses of the test's choice: their contacts by MuJoCo, and by the collider
import type { MainModule } from "../../src/model/mujoco.ts";
import { readSurfaces, type Surfaces } from "../../src/model/surfaces.ts";
import { Prisms } from "../../src/physics/collision/hfield.ts";
import { prismContacts } from "../../src/physics/collision/prism-contacts.ts";
import { Elevations } from "../../src/physics/elevations.ts";
import { mjtGeom } from "../../src/model/enums.ts";
import { array, variable, when } from "../../src/trace/control.ts";
import { add, lt, toF32, toI32, type Scalar } from "../../src/trace/scalar.ts";
import { unit } from "./collider-poses.ts";
import {
  ConvexScene,
  quatToMat,
  shapeOf,
  shapeRow,
  SHAPE_INPUTS,
  type Body,
  type Contact,
  type Frames,
  type Kind,
  type PackedHulls,
} from "./convex-scene.ts";
import type { Random } from "./mjcf-random.ts";
import { program, type TestProgram } from "./trace-runner.ts";

/** How a field is drawn: its lines, half its length, the height of its top (m), and what its elevations are like. */
export interface Terrain {
  readonly nrow: number;
  readonly ncol: number;
  readonly half: number;
  readonly top: number;
  readonly base: number;
  readonly form: "rough" | "smooth" | "steps" | "flat";
}

function elevation({ nrow, ncol, form }: Terrain, r: Random): number[] {
  const [a, b] = [r.between(1, 4), r.between(1, 4)];
  return Array.from({ length: nrow * ncol }, (_, i) => {
    const [y, x] = [Math.floor(i / ncol) / nrow, (i % ncol) / ncol];
    if (form === "rough") return r.between(0, 1);
    if (form === "steps") return Math.floor(4 * x) / 4;
    return form === "flat" ? 0 : 0.5 + 0.25 * (Math.sin(a * 6 * x) + Math.cos(b * 6 * y));
  });
}

/** A field, then a body that it alone touches. */
export function fieldScene(mujoco: MainModule, r: Random, terrain: Terrain, body: Body): ConvexScene {
  const { nrow, ncol, half, top, base } = terrain;
  const size = [half, half * r.between(0.5, 1.5), top, base].map(Math.fround).join(" ");
  const values = elevation(terrain, r).join(" ");
  const placeholder: Body = { kind: "sphere", size: [1, 1, 1] };
  return new ConvexScene(mujoco, [placeholder, body], {
    asset: `<hfield name="h" nrow="${nrow}" ncol="${ncol}" size="${size}" elevation="${values}"/>`,
    geom: `<geom name="g0" type="hfield" hfield="h" contype="0" conaffinity="0"/>`,
  });
}

/** Fields of many scenes as those of one model. */
export function packFields(scenes: readonly ConvexScene[]): Surfaces {
  const all = scenes.map(({ model }) => readSurfaces(model)!);
  let at = 0;
  const starts = all.map((s) => (at += s.elevations.length) - s.elevations.length);
  return {
    ...all[0],
    nrow: Int32Array.from(all, (s) => s.nrow[0]),
    ncol: Int32Array.from(all, (s) => s.ncol[0]),
    fieldadr: Int32Array.from(starts),
    fieldsize: Float64Array.from(all.flatMap((s) => Array.from(s.fieldsize))),
    elevations: Float32Array.from(all.flatMap((s) => Array.from(s.elevations))),
  };
}

/** Contacts of a program: at most these are given back. */
export const MOST = 50;
const WIDTH = 7;

/** Finds the contacts of the poses that `fieldRow` gives. */
export function fieldProgram(
  kind: Kind,
  fields: Surfaces,
  hulls: PackedHulls | undefined,
  prisms: number,
): TestProgram {
  const inputs = SHAPE_INPUTS + 14;
  return program(inputs, 1 + MOST * WIDTH, (x: Scalar[]) => {
    const elevations = new Elevations(fields);
    const rest = x.slice(SHAPE_INPUTS);
    const b = shapeOf(x.slice(0, SHAPE_INPUTS), hulls?.tables(), [kind]);
    const a = {
      pos: rest.slice(0, 3) as never,
      mat: rest.slice(3, 12) as never,
      size: [0, 0, 0] as const,
      radius: 0,
      type: mjtGeom.HFIELD,
      kinds: [mjtGeom.HFIELD],
    };
    const count = variable("count", 0, "i32");
    const out = Array.from({ length: WIDTH }, (_, k) => array(`out${k}`, MOST));
    const options = { iterations: 50, tolerance: 1e-6, multiccd: true };
    const field = elevations.number(toI32(rest[12]));
    prismContacts(new Prisms(elevations, prisms), field, a, b, rest[13], options, (found, before) => {
      when(lt(0, found.count), () => {
        const c = found.at(0);
        [c.dist, ...c.pos, ...c.normal].forEach((v, k) => out[k].set(before, v));
        count.set(add(before, 1));
      });
    });
    return [toF32(count.get()), ...Array.from({ length: MOST }, (_, i) => out.map((o) => o.get(i))).flat()];
  });
}

export const fieldRow = (
  scene: ConvexScene,
  frames: Frames,
  field: number,
  reach: number,
  hulls: PackedHulls,
): number[] => [...shapeRow(scene, 1, frames, hulls), ...frames.slice(0, 12), field, reach];

export const contactsOf = ([count, ...out]: readonly number[]): Contact[] =>
  Array.from({ length: count }, (_, k) => {
    const [dist, ...rest] = out.slice(WIDTH * k, WIDTH * (k + 1));
    return { dist, pos: rest.slice(0, 3), normal: rest.slice(3) };
  });

/** A pose of a tilted field somewhere, and of the body on it, over its edge, or deep in it. */
export function fieldFrames(r: Random, scene: ConvexScene, { top }: Terrain): Frames {
  const [sx, sy] = Array.from(scene.model.hfield_size as Float64Array);
  const mats = [0, 1].map(() => quatToMat(unit(r, 4)).map(Math.fround));
  const radius = scene.radius[1];
  const at = [0, 1, 2].map(() => Math.fround(sx * r.between(-1, 1)));
  const reach = r.chance(0.2) ? 1.1 : 0.9;
  const local = [
    sx * r.between(-reach, reach),
    sy * r.between(-reach, reach),
    top * r.between(0, 1) + radius * r.between(-0.5, 1),
  ];
  const place = [0, 1, 2].map((i) => at[i] + local.reduce((s, x, k) => s + mats[0][3 * i + k] * x, 0));
  return [...at, ...mats[0], ...place.map(Math.fround), ...mats[1]];
}
