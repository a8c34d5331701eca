// geom pairs that no state brings together: by the places that joints leave each body
import { mjtGeom, mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import type { GeomPair } from "../model/pairs.ts";

/** A ball that holds all places of a geom, in the frame of a body above it. */
interface Ball {
  readonly centre: readonly [number, number, number];
  readonly radius: number;
}

const at = (values: Float64Array, i: number): [number, number, number] => [
  values[3 * i],
  values[3 * i + 1],
  values[3 * i + 2],
];
const distance = (a: readonly number[], b: readonly number[]): number => Math.hypot(...a.map((x, k) => x - b[k]));

/** A vector turned by a unit quaternion. */
function turned([w, x, y, z]: ArrayLike<number> & Iterable<number>, v: readonly number[]): [number, number, number] {
  const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
  return [
    v[0] + w * t[0] + y * t[2] - z * t[1],
    v[1] + w * t[1] + z * t[0] - x * t[2],
    v[2] + w * t[2] + x * t[1] - y * t[0],
  ];
}

/** The ball of a geom in the frame of body `above`; undefined if a joint has no bound, or the geom none. */
function ballOf(model: Model, geom: number, above: number): Ball | undefined {
  if (model.geom_type[geom] === mjtGeom.PLANE) return undefined;
  let ball: Ball = { centre: at(model.geom_pos, geom), radius: model.geom_rbound[geom] };
  for (let body = model.geom_bodyid[geom]; body !== above; body = model.body_parentid[body]) {
    // mocap bodies are put anywhere
    if (body === 0 || model.body_mocapid[body] >= 0) return undefined;
    // the last joint first: each turns or moves what is behind it
    for (let k = model.body_jntnum[body] - 1; k >= 0; k--) {
      const j = model.body_jntadr[body] + k;
      const type = model.jnt_type[j];
      if (type === mjtJoint.FREE) return undefined;
      if (type === mjtJoint.SLIDE) {
        if (!model.jnt_limited[j]) return undefined;
        const start = model.qpos0[model.jnt_qposadr[j]];
        const most = Math.max(...[0, 1].map((e) => Math.abs(model.jnt_range[2 * j + e] - start)));
        ball = { ...ball, radius: ball.radius + most };
      } else {
        const anchor = at(model.jnt_pos, j);
        ball = { centre: anchor, radius: ball.radius + distance(anchor, ball.centre) };
      }
    }
    const offset = at(model.body_pos, body);
    const centre = turned(model.body_quat.subarray(4 * body, 4 * body + 4), ball.centre);
    ball = { ...ball, centre: [centre[0] + offset[0], centre[1] + offset[1], centre[2] + offset[2]] };
  }
  return ball;
}

/** The nearest body above both. */
function commonOf(model: Model, a: number, b: number): number {
  let [x, y] = [a, b];
  while (x !== y) {
    if (x > y) x = model.body_parentid[x];
    else y = model.body_parentid[y];
  }
  return x;
}

/** How far a pair stays apart at least (m), beyond its margin; undefined if it may touch, or is not known. */
export function gapOf(model: Model, { geom1, geom2, margin, gap }: GeomPair): number | undefined {
  const bodies = [geom1, geom2].map((g) => model.geom_bodyid[g]);
  const above = commonOf(model, bodies[0], bodies[1]);
  const plane = [geom1, geom2].find((g) => model.geom_type[g] === mjtGeom.PLANE);
  if (plane !== undefined) {
    if (model.geom_bodyid[plane] !== above) return undefined;
    const ball = ballOf(model, plane === geom1 ? geom2 : geom1, above);
    if (!ball) return undefined;
    const normal = turned(model.geom_quat.subarray(4 * plane, 4 * plane + 4), [0, 0, 1]);
    const from = at(model.geom_pos, plane);
    const height = ball.centre.reduce((sum, x, k) => sum + (x - from[k]) * normal[k], 0);
    return apart(height - ball.radius - margin - gap);
  }
  const [a, b] = [geom1, geom2].map((g) => ballOf(model, g, above));
  return a && b ? apart(distance(a.centre, b.centre) - a.radius - b.radius - margin - gap) : undefined;
}

const apart = (x: number): number | undefined => (x > 0 ? x : undefined);
