// where a robot goes ahead, to the left and up whose base has a frame that does not stand upright, or looks aside
import type { Base, Robot } from "./robot.ts";
import { legOf } from "./straight-legs.ts";
import { cross, dot, minus, vectorAt, type Vector } from "./vectors.ts";

/** Unit vectors in the frame of a base. */
export interface Axes {
  readonly ahead: Vector;
  readonly left: Vector;
  readonly up: Vector;
}

/** The vertical part of a base's z axis from which its frame is upright. */
const UPRIGHT = Math.cos(0.5);
/** What of the way ahead is along x at least, of two feet that are beside each other along y. */
const ASIDE = Math.SQRT1_2;
/** Toes are so far ahead of ankles, and knees of hips, at least (m). */
const TOES = 1e-3;

/** Less than this part of an axis along another is how exactly feet are drawn beside each other, and no turn. */
const ALIGNED = 1e-3;

/** 1 of what is called left, -1 of what is called right, else 0. */
const sideOf = (name: string): number =>
  /left|(^|[_.-])l([_.-]|$)/i.test(name) ? 1 : /right|(^|[_.-])r([_.-]|$)/i.test(name) ? -1 : 0;

/** 1 where the first of two feet is called left and the other right, -1 the other way, else 0. */
function firstIsLeft({ model }: Robot, feet: readonly number[]): number {
  const [first, second] = feet.map((foot) => sideOf(model.names.body[foot] ?? ""));
  return first === -second ? first : 0;
}

/** Where it goes ahead, in the world: of two feet across the line between them, so that what is called left is on the left, or where toes are, or knees; of others along x. */
function aheadOf(robot: Robot, feet: readonly number[]): Vector {
  const { model, xpos, geom_xpos } = robot;
  if (feet.length !== 2) return [1, 0, 0];
  const [dx, dy] = minus(vectorAt(xpos, feet[1]), vectorAt(xpos, feet[0]));
  const apart = Math.hypot(dx, dy);
  if (!(apart > TOES)) return [1, 0, 0];
  const across: Vector = [-dy / apart, dx / apart, 0];
  const toes = feet.reduce((sum, foot) => {
    const own = Array.from({ length: model.ngeom }, (_, g) => g).filter(
      (g) => model.body_weldid[model.geom_bodyid[g]] === model.body_weldid[foot],
    );
    return own.reduce((all, g) => all + dot(minus(vectorAt(geom_xpos, g), vectorAt(xpos, foot)), across), sum);
  }, 0);
  // along `across` the first foot is on the left
  const knees = feet.reduce((sum, foot) => {
    const [hip, ...rest] = legOf(model, foot, feet).map((j) => model.jnt_bodyid[j]);
    const ahead = (body: number) => dot(minus(vectorAt(xpos, body), vectorAt(xpos, hip)), across);
    return rest.filter((body) => body !== foot).reduce((all, body) => all + ahead(body) - ahead(foot) / 2, sum);
  }, 0);
  const told = [firstIsLeft(robot, feet), toes, knees].find((way) => Math.abs(way) > TOES);
  const sign = Math.sign(told ?? (across[0] || across[1]));
  return [sign * across[0], sign * across[1], 0];
}

/** The axes that a robot goes along, in the frame of its base; undefined where that stands upright itself, and looks along x. */
export function axesOf(robot: Robot, { body, feet }: Base): Axes | undefined {
  const columns = [0, 1, 2].map((k): Vector => {
    const [x, y, z] = [0, 3, 6].map((row) => robot.xmat[9 * body + row + k]);
    return [x, y, z];
  });
  // of two feet that are beside each other along x it goes along y, and along -x where what is called left is on the right
  const [ahead, up]: Vector[] = [aheadOf(robot, feet), [0, 0, 1]];
  const looksAhead = ahead[0] >= ASIDE || (ahead[0] <= -ASIDE && firstIsLeft(robot, feet) === 0);
  if (columns[2][2] > UPRIGHT && looksAhead) return undefined;
  const own = (v: Vector): Vector =>
    columns.map((c) => (Math.abs(dot(c, v)) < ALIGNED ? 0 : Math.round(1e6 * dot(c, v)) / 1e6)) as unknown as Vector;
  return { ahead: own(ahead), left: own(cross(up, ahead)), up: own(up) };
}

/** The quaternion of a base that is turned about the vertical so that it goes ahead along x of the world. */
export function turnedAhead({ model, qpos, xmat }: Robot, body: number, { ahead }: Axes): readonly number[] {
  const row = (r: number) => dot(vectorAt(xmat, 3 * body + r), ahead);
  const half = -Math.atan2(row(1), row(0)) / 2;
  const [c, s] = [Math.cos(half), Math.sin(half)];
  const at = model.jnt_qposadr[model.body_jntadr[body]] + 3;
  const [w, x, y, z] = qpos.slice(at, at + 4);
  return [c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w];
}
