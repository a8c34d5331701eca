// a compiled model out of a file: sizes, arrays and ids that belong together, checked before anything walks along them
import {
  anyNumber,
  boolean,
  integer,
  list,
  Mismatch,
  numbers,
  object,
  optional,
  text,
  type Kind,
  type Path,
} from "../core/schema.ts";
import { mjtGeom } from "./enums.ts";
import { fieldsOf, fieldSize, SIZES, type ModelArrays, type Sizes } from "./fields.ts";
import { EXTREMA, HULL_FLOATS, HULL_INTS, type Hulls } from "./hulls.ts";
import { NAMED, type Model, type ModelStatistic, type SpeedLimit, type ObjectKind } from "./model.ts";
import { surfaceKind } from "./surfaces.ts";
import { taxelKind } from "./taxels.ts";
import type { LeftOut } from "./visuals.ts";
import type { ModelChange } from "./model-data.ts";
import { MJ_OPTION_SCALARS, MJ_OPTION_VECTORS, type ModelOption } from "./options.ts";

/** A model beside its source, which lies in files of its own. */
export type CompiledModel = Omit<Model, "source">;

type Size = keyof Sizes;
type Ints = keyof ModelArrays;

/** Elements of the largest array. */
const MOST = 2 ** 28;

const ARRAY = { f32: Float64Array, i32: Int32Array, u32: Uint8Array } as const;

/** Where entries start and how many there are, of an array of a size. */
const SPANS: readonly (readonly [start: Ints, count: Ints, of: Size])[] = [
  ["body_jntadr", "body_jntnum", "njnt"],
  ["body_dofadr", "body_dofnum", "nv"],
  ["body_geomadr", "body_geomnum", "ngeom"],
  ["tree_bodyadr", "tree_bodynum", "nbody"],
  ["tree_dofadr", "tree_dofnum", "nv"],
  ["tendon_adr", "tendon_num", "nwrap"],
  ["ten_J_rowadr", "ten_J_rownnz", "nJten"],
  ["actuator_ctrladr", "actuator_ctrlnum", "nu"],
  ["actuator_outadr", "actuator_outnum", "nout"],
  ["actuator_actadr", "actuator_actnum", "na"],
  ["sensor_adr", "sensor_dim", "nsensordata"],
  ["numeric_adr", "numeric_size", "nnumericdata"],
  ["B_rowadr", "B_rownnz", "nB"],
  ["M_rowadr", "M_rownnz", "nC"],
  ["D_rowadr", "D_rownnz", "nD"],
];

/** Ids of objects, below a size; at least `least`, which is -1 if there may be none. */
const IDS: readonly (readonly [name: Ints, of: Size, least: number])[] = [
  ["body_mocapid", "nmocap", -1],
  ["body_treeid", "ntree", -1],
  ["jnt_bodyid", "nbody", 0],
  ["jnt_qposadr", "nq", 0],
  ["jnt_dofadr", "nv", 0],
  ["jnt_actuatorid", "nactuator", -1],
  ["dof_bodyid", "nbody", 0],
  ["dof_jntid", "njnt", 0],
  ["dof_treeid", "ntree", 0],
  ["geom_bodyid", "nbody", 0],
  ["site_bodyid", "nbody", 0],
  ["cam_bodyid", "nbody", 0],
  ["pair_geom1", "ngeom", 0],
  ["pair_geom2", "ngeom", 0],
  ["tendon_actuatorid", "nactuator", -1],
  ["ten_J_colind", "nv", 0],
  ["B_colind", "nv", 0],
  ["M_colind", "nv", 0],
  ["D_colind", "nv", 0],
];

/** Parents, which come before their children: a walk up a tree ends. */
const PARENTS: readonly (readonly [name: Ints, least: number])[] = [
  ["body_parentid", 0],
  ["dof_parentid", -1],
];

/** Numbers of qpos and of qvel that a joint of each type has. */
const JOINT_WIDTHS = [
  [7, 6],
  [4, 3],
  [1, 1],
  [1, 1],
] as const;

const optionKind: Kind<ModelOption> = object<ModelOption>(
  Object.fromEntries([
    ...Object.keys(MJ_OPTION_SCALARS).map((name) => [name, anyNumber]),
    // MuJoCo knows no others
    ...(["integrator", "cone", "jacobian", "solver"] as const).map((name) => [name, MJ_OPTION_SCALARS[name].kind]),
    ...Object.entries(MJ_OPTION_VECTORS).map(([name, { length }]) => [
      name,
      list(anyNumber, { min: length, max: length }),
    ]),
  ]) as never,
);

const statKind: Kind<ModelStatistic> = object<ModelStatistic>({
  meaninertia: anyNumber,
  meanmass: anyNumber,
  meansize: anyNumber,
  extent: anyNumber,
  center: list(anyNumber, { min: 3, max: 3 }),
});

/** A number of a model that is not its source's; `value` may be left out where a world's record holds it. */
export const changeKind: Kind<Omit<ModelChange, "value">> = object<Omit<ModelChange, "value">>({
  field: text(64),
  index: integer(0, MOST),
  derived: boolean,
  also: optional(list(integer(0, MOST))),
});

const hullArrays: Kind<Hulls> = object<Hulls>(
  Object.fromEntries([
    ...HULL_FLOATS.map((name) => [name, numbers([Float64Array])]),
    ...HULL_INTS.map((name) => [name, numbers([Int32Array])]),
    ["extrema", optional(numbers([Int32Array]))],
  ]) as never,
);

/** Hulls whose numbers lead to what is there, and whose lists end. */
const hullKind: Kind<Hulls> = {
  want: "convex hulls",
  read(value, path) {
    const hulls = hullArrays.read(value, path);
    const within = (name: keyof Hulls, least: number, below: number, room: (i: number) => number = () => 1) =>
      hulls[name]?.forEach((x, i) => {
        if (x < least || x + room(i) > below) throw new Mismatch([...path, name, i], x, `a place below ${below}`);
      });
    const same = (name: keyof Hulls, length: number) => {
      const own = hulls[name]?.length;
      if (own !== length) throw new Mismatch([...path, name, "length"], own, String(length));
    };
    const [nhull, nvert, npoly] = [hulls.vertadr.length, hulls.edgeadr.length, hulls.polyvertadr.length];
    for (const name of ["vertnum", "polyadr", "polynum"] as const) same(name, nhull);
    same("vert", 3 * nvert);
    same("polyvertnum", npoly);
    same("polynormal", 3 * npoly);
    within("mesh", -1, nhull);
    within("vertnum", 1, nvert + 1, () => 0);
    within("vertadr", 0, nvert, (i) => hulls.vertnum[i]);
    within("polynum", 0, npoly + 1, () => 0);
    within("polyadr", 0, npoly, (i) => hulls.polynum[i]);
    if (hulls.extrema) same("extrema", EXTREMA * nhull);
    within("extrema", -1, nvert);
    within("edge", -1, nvert);
    within("edgeadr", 0, hulls.edge.length);
    within("polyvert", 0, nvert);
    within("polyvertnum", 3, hulls.polyvert.length + 1, () => 0);
    within("polyvertadr", 0, hulls.polyvert.length, (i) => hulls.polyvertnum[i]);
    for (const name of ["polymapadr", "polymapnum"] as const) same(name, nvert);
    within("polymap", 0, npoly);
    within("polymapnum", 0, hulls.polymap.length + 1, () => 0);
    within("polymapadr", 0, hulls.polymap.length, (i) => hulls.polymapnum[i]);
    if (hulls.edge.at(-1) !== -1) throw new Mismatch([...path, "edge"], hulls.edge.at(-1), "ended by -1");
    return hulls;
  },
};

const sizeKinds = Object.fromEntries(SIZES.map((name) => [name, integer(0, MOST)])) as Record<Size, Kind<number>>;
const name = text();

/**
 * Reads a compiled model: every array has the length that the sizes say, every id is of something that is there.
 * Throws `Mismatch`.
 */
export const modelKind: Kind<CompiledModel> = {
  want: "a compiled model",
  read(value, path) {
    // sizes first: what they say of arrays is held against the arrays themselves
    const sizes = object<Sizes>(sizeKinds).read(pick(value, SIZES, path), path);
    const arrays = fieldsOf("model").map(
      (f) => [f.name, numbers([ARRAY[f.type]] as never, fieldSize(sizes, f.name))] as const,
    );
    const kinds = Object.entries(NAMED).map(
      ([kind, [count]]) => [kind, list(name, { min: sizes[count], max: sizes[count] })] as const,
    );
    const read = object<CompiledModel>({
      ...sizeKinds,
      ...(Object.fromEntries(arrays) as unknown as { [K in Ints]: Kind<ModelArrays[K]> }),
      name,
      opt: optionKind,
      stat: statKind,
      names: object<Model["names"]>(Object.fromEntries(kinds) as { [K in ObjectKind]: Kind<readonly string[]> }),
      warnings: list(text(65_536)),
      nconmax: optional(integer(1, MOST)),
      restContacts: optional(integer(0, MOST)),
      restRounding: optional(anyNumber),
      leftOut: optional(object<LeftOut>({ geom: list(name), mesh: list(name) })),
      speedLimits: optional(list(object<SpeedLimit>({ dof: integer(0, Math.max(0, sizes.nv - 1)), limit: anyNumber }))),
      hulls: optional(hullKind),
      surfaces: optional(surfaceKind),
      taxels: optional(taxelKind),
      changes: optional(
        list(
          object<ModelChange>({
            field: text(64),
            index: integer(0, MOST),
            value: anyNumber,
            derived: boolean,
            also: optional(list(integer(0, MOST))),
          }),
        ),
      ),
    }).read(value, path);
    checkIds(read, path);
    return read;
  },
};

function pick(value: unknown, names: readonly string[], path: Path): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new Mismatch(path, value, "an object");
  return Object.fromEntries(names.map((key) => [key, (value as Record<string, unknown>)[key]]));
}

function checkIds(model: CompiledModel, path: Path): void {
  const bad = (field: Ints, i: number, want: string): Mismatch =>
    new Mismatch([...path, field, i], model[field][i], want);
  const each = (field: Ints, isGood: (x: number, i: number) => boolean, want: string) => {
    const i = model[field].findIndex((x, at) => !isGood(x, at));
    if (i >= 0) throw bad(field, i, want);
  };
  for (const [field, of, least] of IDS)
    each(field, (x) => x >= least && x < model[of], `an id below ${of}, ${model[of]}`);
  for (const [field, least] of PARENTS)
    each(field, (x, i) => x >= least && x < Math.max(i, least + 1), "the id of a parent");
  each("body_rootid", (x, i) => x >= 0 && x <= i, "the id of an ancestor");
  each("body_weldid", (x, i) => x >= 0 && x <= i, "the id of an ancestor");
  each("jnt_type", (x) => x >= 0 && x < JOINT_WIDTHS.length, "an mjtJoint");
  for (const [start, count, of] of SPANS) {
    each(count, (x) => x >= 0 && x <= model[of], `a count of at most ${of}, ${model[of]}`);
    each(
      start,
      (x, i) => model[count][i] === 0 || (x >= 0 && x + model[count][i] <= model[of]),
      `a place in ${of}, ${model[of]}`,
    );
  }
  model.geom_dataid.forEach((id, g) => {
    const of = { [mjtGeom.MESH]: "nmesh", [mjtGeom.HFIELD]: "nhfield" }[model.geom_type[g]] as Size | undefined;
    if (of && (id < 0 || id >= model[of])) throw bad("geom_dataid", g, `an id below ${of}, ${model[of]}`);
  });
  for (const [of, list] of [
    ["nmesh", "faceadr"],
    ["nhfield", "nrow"],
  ] as const)
    if (model.surfaces && model.surfaces[list].length !== model[of])
      throw new Mismatch([...path, "surfaces", list, "length"], model.surfaces[list].length, String(model[of]));
  if (model.taxels && model.taxels.adr.length !== model.nsensor)
    throw new Mismatch([...path, "taxels", "adr", "length"], model.taxels.adr.length, String(model.nsensor));
  model.taxels?.adr.forEach((adr, s) => {
    const room = model.taxels!.pos.length / 3 - adr;
    if (adr >= 0 && model.sensor_dim[s] / 3 > room)
      throw new Mismatch([...path, "taxels", "adr", s], adr, "where so many points begin");
  });
  if (model.hulls && model.hulls.mesh.length !== model.nmesh)
    throw new Mismatch([...path, "hulls", "mesh", "length"], model.hulls.mesh.length, String(model.nmesh));
  model.jnt_type.forEach((type, i) => {
    const [q, v] = JOINT_WIDTHS[type];
    if (model.jnt_qposadr[i] + q > model.nq) throw bad("jnt_qposadr", i, `a place in nq, ${model.nq}`);
    if (model.jnt_dofadr[i] + v > model.nv) throw bad("jnt_dofadr", i, `a place in nv, ${model.nv}`);
  });
}
