// from where bodies are to what is drawn, in Node and in a page alike
import type { Crowd } from "./crowd.ts";
import type { DrawList } from "./draw-list.ts";
import { alongZ, multiply, rotation, turned, type Matrix } from "./rotation.ts";
import { lightOf, OWN_LIGHT } from "./lights.ts";
import { SHAPE, SHOWN_GROUPS, type Four, type Part, type Scene, type Skin } from "./scene.ts";

/** Numbers of the pose of a body: position, and quaternion (w, x, y, z); of a camera: position and row-major frame. */
export const BODY_FLOATS = 7;
export const CAMERA_FLOATS = 12;
/** Numbers of a straight piece of a tendon: world, tendon, its two ends. */
const SEGMENT_FLOATS = 8;
/** Numbers of a contact: world, position, normal, force in the contact's frame turned to the world's, distance. */
export const CONTACT_FLOATS = 11;

/** Where everything is at one time. */
export interface Poses {
  readonly worlds: number;
  /** [worlds, nbody, BODY_FLOATS] */
  readonly bodies: Float32Array;
  /** Of the world that is looked at: [ncam, CAMERA_FLOATS] */
  readonly cameras: Float32Array;
  /** Of the same world: [nlight, LIGHT_FLOATS] */
  readonly lights: Float32Array;
  /** [count, SEGMENT_FLOATS] */
  readonly tendons: Float32Array;
  /** [count, CONTACT_FLOATS] */
  readonly contacts: Float32Array;
}

/** What is shown of it. */
export interface Shown {
  /** Groups of geoms and sites, a bit each. */
  readonly groups: number;
  /** All geoms, those that can touch something, or those that cannot. */
  readonly geoms: "all" | "collision" | "visual";
  readonly sites: boolean;
  readonly tendons: boolean;
  readonly joints: boolean;
  readonly frames: boolean;
  readonly centres: boolean;
  readonly inertia: boolean;
  readonly contacts: boolean;
  readonly forces: boolean;
  readonly fields: boolean;
  readonly clear: boolean;
  /** Textures, sky and lights of the model; without them our own. */
  readonly textures: boolean;
}

export const SHOWN: Shown = {
  groups: 2 ** SHOWN_GROUPS - 1,
  geoms: "all",
  sites: true,
  tendons: true,
  joints: false,
  frames: false,
  centres: false,
  inertia: false,
  contacts: false,
  forces: false,
  fields: true,
  clear: false,
  textures: true,
};

/** How far apart worlds of a grid are, in radii of what moves in one. */
const SPACING = 2.4;
/** Squares of a checker, in the same radii. */
const SQUARE = 0.5;
/** Cosine of the tilt from which on a plane is no floor. */
const LEVEL = 1 - 1e-6;
/** Worlds from which on the device places their parts. */
const CROWD = 16;
/** How far apart bodies are that are drawn as one (m, and of quaternions). */
const SAME = 1e-4;
/** Opacity of what is made transparent. */
const CLEAR = 0.35;
const HIGHLIGHT: Four = [1, 0.55, 0.1, 1];
const BAD: Four = [1, 0.1, 0.1, 1];
/** What MuJoCo gives a geom that has no colour. */
const USUAL: Four = [0.5, 0.5, 0.5, 1];
/** A plane that has neither colour nor material. */
const FLOOR: Four = [0.78, 0.8, 0.79, 1];
const GHOST: Four = [0.2, 0.45, 1, 0.45];
const AXES: readonly Four[] = [
  [0.9, 0.2, 0.2, 1],
  [0.2, 0.75, 0.2, 1],
  [0.25, 0.4, 0.95, 1],
];

/** Where world `k` of `worlds` stands in the grid; `radius`: of what moves in one. */
export function offsetOf(k: number, worlds: number, radius: number): [number, number, number] {
  const columns = Math.ceil(Math.sqrt(worlds));
  const rows = Math.ceil(worlds / columns);
  const spacing = worlds > 1 ? SPACING * radius : 0;
  return [((k % columns) - (columns - 1) / 2) * spacing, (Math.floor(k / columns) - (rows - 1) / 2) * spacing, 0];
}

export const isShown = ({ of, group, checker, collides, field }: Part, shown: Shown): boolean => {
  if (((shown.groups >> group) & 1) === 0) return false;
  if (of === "site") return shown.sites;
  if (field && !shown.fields) return false;
  return checker || shown.geoms === "all" || collides === (shown.geoms === "collision");
};

/** Without a model's textures a part is of its colour alone. */
const skinOf = ({ skin }: Part, { textures }: Shown): Skin => (textures ? skin : { ...skin, texture: -1 });

/** What a picture says beside the model. */
export interface Marks {
  /** A body of a world that is chosen, and one that is bad. */
  readonly chosen?: { readonly world: number; readonly body: number };
  readonly bad?: { readonly world: number; readonly body: number; readonly joint?: number };
  /** Worlds that are drawn as ghosts. */
  readonly ghosts?: ReadonlySet<number>;
  /** Worlds that stand where another does, by their place in the grid; else each has its own. */
  readonly places?: readonly number[];
  /** Worlds that are not drawn. */
  readonly hidden?: ReadonlySet<number>;
}

/**
 * Puts all that is shown of some worlds into a list. What no joint moves is drawn in each world; planes once,
 * since they lie on each other.
 */
export function showWorlds(
  list: DrawList,
  scene: Scene,
  poses: Poses,
  radius: number,
  shown: Shown = SHOWN,
  marks: Marks = {},
): void {
  list.clear();
  const { worlds, bodies } = poses;
  const { chosen, bad, ghosts, places, hidden } = marks;
  const nbody = scene.bodies.length;
  const grid = places === undefined ? worlds : Math.max(...places) + 1;
  const offsets = Array.from({ length: worlds }, (_, w) => offsetOf(places?.[w] ?? w, grid, radius));
  const frames: Matrix[] = Array.from({ length: nbody });
  const positions: number[][] = Array.from({ length: nbody });
  const parts = scene.parts.filter((part) => isShown(part, shown));
  const scale = scene.meansize || 0.1 * scene.extent;
  // ghosts and worlds of one place are few
  const isCrowd = worlds >= CROWD && places === undefined && !ghosts?.size && !hidden?.size;
  list.lighting = shown.textures ? lightOf(scene, poses.lights, worlds) : OWN_LIGHT;
  if (isCrowd) list.crowd = crowdOf(scene, poses, parts, offsets, shown, chosen?.world);
  const isPlaced = (world: number, { checker }: Part) => isCrowd && !checker && world !== chosen?.world;
  const hasMore = shown.frames || shown.inertia || shown.centres || shown.joints;

  for (let world = 0; world < worlds; world++) {
    if (hidden?.has(world)) continue;
    if (isCrowd && !hasMore && world > 0 && world !== chosen?.world) continue;
    const [dx, dy] = offsets[world];
    // what stands where another world has it is drawn by that
    const before = places === undefined ? world : places.indexOf(places[world]);
    const isDrawn = (b: number) => before < world && isSame(bodies, nbody, world, before, b);
    for (let b = 0; b < nbody; b++) {
      const at = (world * nbody + b) * BODY_FLOATS;
      positions[b] = [bodies[at] + dx, bodies[at + 1] + dy, bodies[at + 2]];
      frames[b] = rotation(bodies.subarray(at + 3, at + BODY_FLOATS) as unknown as number[]);
    }
    const put = (body: number, local: readonly number[]) => {
      const p = turned(frames[body], local);
      const q = positions[body];
      return [q[0] + p[0], q[1] + p[1], q[2] + p[2]];
    };
    for (const part of parts) {
      const { body } = part;
      if ((part.checker && world > 0) || isPlaced(world, part)) continue;
      if (!scene.bodies[body].moves && (isLand(part) ? before < world : isDrawn(body))) continue;
      // a state that is not finite is nowhere
      if (!positions[body].every(Number.isFinite)) continue;
      let rgba = part.rgba;
      if (bad?.world === world && bad.body === body && body > 0) rgba = BAD;
      else if (chosen?.world === world && chosen.body === body && body > 0) rgba = HIGHLIGHT;
      if (ghosts?.has(world)) rgba = GHOST;
      else if (shown.clear && !part.checker) rgba = [rgba[0], rgba[1], rgba[2], CLEAR * rgba[3]];
      const skin = skinOf(part, shown);
      const look = part.checker && skin.texture < 0 ? { checker: SQUARE * radius, skin } : { skin };
      if (look.checker !== undefined && rgba.every((x, k) => x === USUAL[k])) rgba = FLOOR;
      const mat = multiply(frames[body], part.mat);
      const pos = isLand(part) ? [part.pos[0] + dx, part.pos[1] + dy, part.pos[2]] : put(body, part.pos);
      const { at, size } = part.checker ? underAll(part, mat, pos, offsets) : { at: pos, size: part.size };
      list.add(part.shape, at, mat, size, rgba, look);
    }
    if (shown.frames) for (let b = 0; b < nbody; b++) addFrame(list, positions[b], frames[b], scale);
    for (let b = 1; b < nbody; b++) {
      const { ipos, imat, box } = scene.bodies[b];
      const isSolid = box.some((half) => half > 0);
      if (shown.inertia && isSolid)
        list.add(SHAPE.box, put(b, ipos), multiply(frames[b], imat), [...box, 0], [0.8, 0.2, 0.2, 0.5]);
      if (shown.centres && isSolid) {
        const r = 0.2 * scale;
        list.add(SHAPE.round, put(b, ipos), frames[b], [r, r, r, 0], [0.9, 0.9, 0.9, 1], { flat: true });
      }
    }
    for (const [id, { type, body, pos, axis }] of scene.joints.entries()) {
      const isBad = bad?.world === world && bad.joint === id;
      if (!isBad && (!shown.joints || ghosts?.has(world))) continue;
      const frame = alongZ(turned(frames[body], axis));
      const [at, rgba] = [put(body, pos), isBad ? BAD : [0.2, 0.6, 0.8, 1]];
      const r = (isBad ? 0.15 : 0.1) * scale;
      if (type === "free" || type === "ball") list.add(SHAPE.round, at, frames[body], [2 * r, 2 * r, 2 * r, 0], rgba);
      else if (type === "slide") list.add(SHAPE.box, at, frame, [r, r, 0.6 * scale, 0], rgba);
      else list.add(SHAPE.cylinder, at, frame, [r, r, 0.6 * scale, 0], rgba);
    }
  }
  if (shown.tendons) addTendons(list, scene, poses, offsets, scale);
  addContacts(list, poses, offsets, shown, scale);
}

/** Floors and height fields of the world itself, which are drawn where the model has them. */
const isLand = ({ body, checker, field }: Part): boolean => body === 0 && (checker || field);

/** Whether a body is in two worlds at one place. */
function isSame(bodies: Float32Array, nbody: number, a: number, b: number, body: number): boolean {
  const [i, j] = [a, b].map((world) => (world * nbody + body) * BODY_FLOATS);
  for (let k = 0; k < BODY_FLOATS; k++) if (!(Math.abs(bodies[i + k] - bodies[j + k]) < SAME)) return false;
  return true;
}

/** A level plane as large as those of all worlds of a grid together; any other plane as it is in the first. */
function underAll({ size }: Part, mat: Matrix, at: readonly number[], offsets: readonly number[][]) {
  const [dx, dy] = offsets[0];
  if (Math.abs(mat[8]) < LEVEL || (dx === 0 && dy === 0)) return { at, size };
  const more = (axis: number) => Math.abs(mat[axis] * dx) + Math.abs(mat[3 + axis] * dy);
  return { at: [at[0] - dx, at[1] - dy, at[2]], size: [size[0] + more(0), size[1] + more(1), size[2], size[3]] };
}

/** The worlds that the device places: all but one that is chosen, and any that is not finite. */
function crowdOf(
  scene: Scene,
  { worlds, bodies }: Poses,
  parts: readonly Part[],
  offsets: readonly number[][],
  shown: Shown,
  chosen: number | undefined,
): Crowd {
  const nbody = scene.bodies.length;
  const isFinite = (world: number) =>
    bodies.subarray(world * nbody * BODY_FLOATS, (world + 1) * nbody * BODY_FLOATS).every(Number.isFinite);
  const drawn = Array.from({ length: worlds }, (_, w) => w).filter((w) => w !== chosen && isFinite(w));
  return {
    parts: parts.filter(({ checker }) => !checker).map((part) => ({ ...part, skin: skinOf(part, shown) })),
    nbody,
    bodies,
    worlds: drawn,
    places: drawn.map((w) => offsets[w]),
    opacity: shown.clear ? CLEAR : 1,
  };
}

function addFrame(list: DrawList, pos: readonly number[], frame: Matrix, scale: number): void {
  AXES.forEach((rgba, k) => {
    const axis = [frame[k], frame[3 + k], frame[6 + k]];
    addArrow(
      list,
      pos,
      axis.map((x) => x * scale),
      0.06 * scale,
      rgba,
    );
  });
}

/** A line from a point along a vector, with a thicker end. */
export function addArrow(
  list: DrawList,
  from: readonly number[],
  along: readonly number[],
  radius: number,
  rgba: readonly number[],
): void {
  const length = Math.hypot(...along);
  if (!(length > 0) || length === Infinity) return;
  const frame = alongZ(along);
  const middle = from.map((x, i) => x + along[i] / 2);
  list.add(SHAPE.cylinder, middle, frame, [radius, radius, length / 2, 0], rgba, { flat: true });
  const end = from.map((x, i) => x + along[i]);
  list.add(SHAPE.round, end, frame, [1.8 * radius, 1.8 * radius, 3 * radius, 0], rgba, { flat: true });
}

function addTendons(
  list: DrawList,
  scene: Scene,
  { tendons }: Poses,
  offsets: readonly number[][],
  scale: number,
): void {
  for (let at = 0; at + SEGMENT_FLOATS <= tendons.length; at += SEGMENT_FLOATS) {
    const [dx, dy] = offsets[tendons[at]] ?? [0, 0];
    const { width, rgba } = scene.tendons[tendons[at + 1]] ?? { width: 0.1 * scale, rgba: [0.5, 0.5, 0.5, 1] };
    const a = [tendons[at + 2] + dx, tendons[at + 3] + dy, tendons[at + 4]];
    const b = [tendons[at + 5] + dx, tendons[at + 6] + dy, tendons[at + 7]];
    const along = b.map((x, i) => x - a[i]);
    const middle = b.map((x, i) => (x + a[i]) / 2);
    list.add(SHAPE.round, middle, alongZ(along), [width, width, width, Math.hypot(...along) / 2], rgba);
  }
}

function addContacts(
  list: DrawList,
  { contacts }: Poses,
  offsets: readonly number[][],
  shown: Shown,
  scale: number,
): void {
  const forces: number[] = [];
  for (let at = 0; at + CONTACT_FLOATS <= contacts.length; at += CONTACT_FLOATS)
    forces.push(Math.hypot(contacts[at + 7], contacts[at + 8], contacts[at + 9]));
  const most = Math.max(1e-9, ...forces);
  forces.forEach((force, k) => {
    const at = k * CONTACT_FLOATS;
    const [dx, dy] = offsets[contacts[at]] ?? [0, 0];
    const pos = [contacts[at + 1] + dx, contacts[at + 2] + dy, contacts[at + 3]];
    const normal = [contacts[at + 4], contacts[at + 5], contacts[at + 6]];
    const r = 0.3 * scale;
    if (shown.contacts)
      list.add(SHAPE.cylinder, pos, alongZ(normal), [r, r, 0.08 * scale, 0], [0.9, 0.6, 0.2, 1], { flat: true });
    if (shown.forces && force > 0) {
      const f = [contacts[at + 7], contacts[at + 8], contacts[at + 9]].map((x) => (x / most) * 3 * scale);
      addArrow(list, pos, f, 0.1 * scale, [0.2, 0.8, 0.3, 1]);
    }
  });
}
