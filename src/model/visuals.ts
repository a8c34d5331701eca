// what of a model can only be looked at: left out before MuJoCo compiles it, since its meshes take most of the time
import { mjtGeom, mjtObj, mjtSensor } from "./enums.ts";
import type { MainModule, MjSpec, MjsElement, MjsGeom } from "./mujoco.ts";

/** Objects that were left out because they can only be looked at, by name; "" for one without a name. */
export interface LeftOut {
  readonly geom: readonly string[];
  readonly mesh: readonly string[];
}

/** mjtInertiaFromGeom: inertia of geoms in place of what bodies say. */
const FROM_GEOM = 1;

/** Sensors that see every geom, whatever it can touch. */
const SEEING: ReadonlySet<number> = new Set([
  mjtSensor.RANGEFINDER,
  mjtSensor.CAMPROJECTION,
  mjtSensor.TACTILE,
  mjtSensor.PLUGIN,
  mjtSensor.USER,
]);

/** Calls of the specification that take an enum take its object here. */
const kind = (
  mujoco: MainModule,
  name: "ACTUATOR" | "GEOM" | "MESH" | "SKIN" | "TEXTURE" | "MATERIAL" | "SENSOR" | "PAIR" | "TUPLE",
) => mujoco.mjtObj[`mjOBJ_${name}`];

/** The elements of a kind, in their order. */
export function elements(mujoco: MainModule, spec: MjSpec, of: Parameters<typeof kind>[1]): MjsElement[] {
  const out: MjsElement[] = [];
  for (let e = mujoco.mjs_firstElement(spec, kind(mujoco, of)); e; e = mujoco.mjs_nextElement(spec, e)) out.push(e);
  return out;
}

/** What other elements name. */
interface Named {
  readonly geoms: ReadonlySet<string>;
  readonly meshes: ReadonlySet<string>;
  /** Bodies of which a sensor measures all geoms. */
  readonly bodies: ReadonlySet<string>;
  /** Whether a sensor sees all geoms. */
  readonly all: boolean;
}

function namedBy(mujoco: MainModule, spec: MjSpec): Named {
  const found = { geoms: new Set<string>(), meshes: new Set<string>(), bodies: new Set<string>(), all: false };
  const sets: Partial<Record<number, Set<string>>> = { [mjtObj.GEOM]: found.geoms, [mjtObj.MESH]: found.meshes };
  for (const element of elements(mujoco, spec, "PAIR")) {
    const pair = mujoco.mjs_asPair(element)!;
    found.geoms.add(pair.geomname1).add(pair.geomname2);
  }
  for (const element of elements(mujoco, spec, "SENSOR")) {
    const sensor = mujoco.mjs_asSensor(element)!;
    const type = sensor.type.value as number;
    if (SEEING.has(type)) found.all = true;
    const ends = [
      [sensor.objtype.value, sensor.objname],
      [sensor.reftype.value, sensor.refname],
    ] as const;
    const isDistance = type >= mjtSensor.GEOMDIST && type <= mjtSensor.GEOMFROMTO;
    for (const [objtype, name] of ends) {
      sets[objtype]?.add(name);
      if (isDistance && objtype === mjtObj.BODY) found.bodies.add(name);
    }
  }
  for (const element of elements(mujoco, spec, "TUPLE")) {
    const names = mujoco.mjs_asTuple(element)!.objname;
    for (let i = 0; i < names.size(); i++) found.geoms.add(names.get(i) as string);
  }
  return found;
}

/** The name of a mesh; one without a name is called after its file. */
function meshName(mujoco: MainModule, element: MjsElement): string {
  const file = mujoco.mjs_asMesh(element)!.file;
  return mujoco.mjs_getName(element) || file.replace(/^.*[/\\]/, "").replace(/\.[^.]*$/, "");
}

/** Whether MuJoCo takes the mass of a geom for its body. */
function makesInertia(mujoco: MainModule, element: MjsElement, geom: MjsGeom): boolean {
  const body = mujoco.mjs_getParent(element);
  const compiler = mujoco.mjs_getCompiler(element);
  if (!body || !compiler) return true;
  if (mujoco.mjs_getName(body.element) === "world") return false;
  const infers = !body.explicitinertial || compiler.inertiafromgeom.value === FROM_GEOM;
  const [least, most] = compiler.inertiagrouprange as ArrayLike<number> & Iterable<number>;
  const weighs = Number.isNaN(geom.mass) ? geom.density !== 0 : geom.mass !== 0;
  return infers && weighs && geom.group >= least && geom.group <= most;
}

/**
 * Removes geoms of meshes that touch nothing, weigh nothing that their body needs and are named by nothing; then meshes
 * that no geom has left, and textures and skins. Every number of what stays is what MuJoCo makes of the whole file, but
 * for numbers over all geoms (extent, centre and mean size of the model, bounding volumes of bodies).
 */
export function leaveOutVisuals(mujoco: MainModule, spec: MjSpec): LeftOut {
  const out = { geom: [] as string[], mesh: [] as string[] };
  leaveOutMeshes(mujoco, spec, out);
  leaveOutLooks(mujoco, spec);
  return out;
}

function leaveOutMeshes(mujoco: MainModule, spec: MjSpec, out: { geom: string[]; mesh: string[] }): void {
  const meshes = elements(mujoco, spec, "MESH");
  // to find the next of thousands of geoms takes a moment each
  if (meshes.length === 0) return;
  const named = namedBy(mujoco, spec);
  const geoms = elements(mujoco, spec, "GEOM").map((element) => ({ element, geom: mujoco.mjs_asGeom(element)! }));
  const types = new Set(geoms.map(({ geom }) => geom.contype));
  const affinities = new Set(geoms.map(({ geom }) => geom.conaffinity));
  const touches = ({ contype, conaffinity }: MjsGeom) =>
    [...affinities].some((other) => (contype & other) !== 0) || [...types].some((other) => (conaffinity & other) !== 0);

  const usedMeshes = new Set(named.meshes);
  for (const { element, geom } of geoms) {
    if (geom.meshname === "") continue;
    const name = mujoco.mjs_getName(element);
    const isSeen =
      named.all ||
      named.geoms.has(name) ||
      named.bodies.has(mujoco.mjs_getName(mujoco.mjs_getParent(element)!.element));
    const isSpecial = geom.type.value === mjtGeom.SDF || geom.plugin.active || geom.fluid_ellipsoid !== 0;
    if (isSeen || isSpecial || touches(geom) || makesInertia(mujoco, element, geom)) {
      usedMeshes.add(geom.meshname);
      continue;
    }
    out.geom.push(name);
    mujoco.mjs_delete(spec, element);
  }

  for (const element of meshes) {
    const name = meshName(mujoco, element);
    if (usedMeshes.has(name)) continue;
    out.mesh.push(name);
    mujoco.mjs_delete(spec, element);
  }
}

function leaveOutLooks(mujoco: MainModule, spec: MjSpec): void {
  // materials of attached models keep their textures whatever is set; those that MuJoCo draws itself take no time
  const textures = elements(mujoco, spec, "TEXTURE");
  if (textures.some((element) => mujoco.mjs_asTexture(element)!.builtin.value === 0)) {
    for (const element of elements(mujoco, spec, "MATERIAL")) {
      const { textures } = mujoco.mjs_asMaterial(element)!;
      for (let i = 0; i < textures.size(); i++) textures.set(i, "");
    }
    for (const element of textures) mujoco.mjs_delete(spec, element);
  }
  for (const element of elements(mujoco, spec, "SKIN")) mujoco.mjs_delete(spec, element);
}
