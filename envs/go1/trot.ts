// a trot about which policies of the Go1 act: feet land where they catch it (Raibert 1986), at the height of the terrain
// there, and servos aim at their places
import { bodyId, stride, terrainAt, turned, valueOf, type Scene } from "../../src/env/index.ts";
import { acos, atan2, cos, sin } from "../../src/trace/math.ts";
import {
  add,
  clamp,
  div,
  gt,
  lt,
  max,
  min,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../src/trace/scalar.ts";
import { swung } from "../footing.ts";

/** From the trunk to a hip, from its axis to the leg's plane, the lengths of thigh and calf (m). */
const HIP = [0.1881, 0.04675] as const;
const OUT = 0.08;
const LENGTH = 0.213;
/** The robot's weight (N), and the stiffness of its servos (N m/rad). */
const WEIGHT = 125;
const STIFFNESS = 35;

/** Seconds of two steps, the part of them that a foot stands, how high it swings, how far below hips and wider than legs feet stand (m). */
const PERIOD = 0.36;
const DUTY = 0.55;
const LIFT = 0.08;
const HIGH = 0.265;
const WIDE = 0.02;
/** Feet land farther by this times the velocity beyond the command (s) and times the tilt (m), at most so far (m). */
const CATCHES = 0.15;
const RIGHTS = 0.1;
const FARTHEST = 0.2;
/** Time constants (s): of the command that it follows, of how much it steps, of where feet aim, of the plane through the ground. */
const FOLLOWS = 0.2;
const STARTS = 0.1;
const AIMS = 0.03;
const SMOOTH = 0.1;
/** How much of the ground's slope the trunk takes on, and of its tilt the height of a foot that swings makes up for. */
const LEANS = 0.5;
const LEVELS = 0.5;
/** Feet that stand push by this against how fast the trunk tilts (s), and hold this part of the weight without a policy. */
const DAMPS = 0.08;
const HOLDS = 0.5;
/** It steps without a command, too, as it moves at (m/s), tilts by (rad), or has feet away from their places by (m) this. */
const MOVED = 0.25;
const TILTED = 0.12;
const AWAY = 0.06;
/** Where the ground about the trunk is looked up (m): its unevenness is the range of those heights. */
const ABOUT = [
  [0, 0],
  [0.3, 0],
  [-0.3, 0],
  [0, 0.3],
  [0, -0.3],
  [0.2, 0.2],
  [-0.2, -0.2],
  [0.2, -0.2],
  [-0.2, 0.2],
] as const;
/** Feet swing higher by this part of the unevenness, at most so far (m). */
const CLEARS = 1;
const HIGHEST = 0.06;
/** The unevenness that slows nothing (m), how much of the command each metre beyond it takes, and what is left at least. */
const EVEN = 0.05;
const SLOWS = 5;
const SLOWEST = 0.5;
/** How far it walks at least where its feet are lifted. */
const STROLLS = 0.3;

/** Legs in the model's order: where feet stand from the trunk (m), and when in a trot they step. */
const LEGS = [
  { name: "FR", front: 1, side: -1, offset: 0 },
  { name: "FL", front: 1, side: 1, offset: 0.5 },
  { name: "RR", front: -1, side: -1, offset: 0.5 },
  { name: "RL", front: -1, side: 1, offset: 0 },
].map((leg) => ({ ...leg, x: leg.front * HIP[0], y: leg.side * (HIP[1] + OUT + WIDE) }));

/** What it keeps from step to step, by where it lies. */
const STRIDE = { phase: 0, walks: 1, followed: 2, moved: 5, from: 13, to: 17, plane: 21, uneven: 24 };

const far = (x: Scalar, y: Scalar): Scalar => sqrt(add(square(x), square(y)));

/** Angles of hip, thigh and calf that put a foot at a place from its hip. */
function angles(side: number, x: Scalar, y: Scalar, z: Scalar): Scalar[] {
  const down = sqrt(max(sub(add(square(y), square(z)), OUT * OUT), 0.01));
  const hip = sub(atan2(y, neg(z)), atan2(side * OUT, down));
  const half = acos(div(clamp(far(x, down), 0.12, 0.415), 2 * LENGTH));
  return [hip, sub(half, atan2(x, down)), mul(-2, half)];
}

/** Where servos aim so that a foot at that place, with those angles, holds a force up (N). */
function held(at: readonly Scalar[], x: Scalar, y: Scalar, force: Scalar): Scalar[] {
  const arms = [neg(y), x, add(x, mul(LENGTH, sin(at[1])))];
  return at.map((angle, i) => add(angle, mul(div(force, STIFFNESS), arms[i])));
}

const moves = (s: Scene): Bool => gt(sum(valueOf(s, "wanted").map(square)), 0.01);

/** How fast the ground passes a place under the trunk as a command is followed (m/s). */
const passes = ([forward, sideways, turning]: readonly Scalar[], x: number, y: number) =>
  [sub(forward, mul(turning, y)), add(sideways, mul(turning, x))] as const;

/** Where feet stand or will land, on the plane. */
function places(
  t: Scene,
  phase: Scalar,
  followed: readonly Scalar[],
  moved: readonly Scalar[],
  stands: readonly Bool[],
) {
  const trunk = bodyId(t.model, "body", "trunk");
  const [at, mat] = [t.d.xpos.vec3(trunk), t.d.xmat.mat3(trunk)];
  const size = max(far(mat[0], mat[3]), 1e-6);
  const [c, n] = [div(mat[0], size), div(mat[3], size)];
  return LEGS.map(({ name, x, y, offset }, leg) => {
    const calf = bodyId(t.model, "body", `${name}_calf`);
    const [knee, turn] = [t.d.xpos.vec3(calf), t.d.xmat.mat3(calf)];
    const until = add((PERIOD * DUTY) / 2, mul(PERIOD, sub(1, turned(phase, offset))));
    const [ahead, left] = passes(followed, x, y).map((v, i) => add([x, y][i], add(mul(v, until), moved[2 * leg + i])));
    const lands = [add(at[0], sub(mul(c, ahead), mul(n, left))), add(at[1], add(mul(n, ahead), mul(c, left)))];
    const [px, py] = lands.map((land, k) =>
      select(stands[leg], sub(knee[k], mul(LENGTH, turn[3 * k + 2])), land, "f32"),
    );
    return [px, py] as const;
  });
}

/** How uneven the ground about the trunk is (m). */
function unevenness(t: Scene): Scalar {
  const at = t.d.xpos.vec3(bodyId(t.model, "body", "trunk"));
  const heights = terrainAt(
    t,
    ABOUT.map(([x, y]) => [add(at[0], x), add(at[1], y)] as const),
  );
  return sub(heights.reduce(max), heights.reduce(min));
}

function update(t: Scene, before: readonly Scalar[] | undefined): readonly Scalar[] {
  const [down, velocity] = [valueOf(t, "down"), valueOf(t, "linear")];
  const toward = (last: Scalar, goal: Scalar, constant: number) =>
    add(last, mul(min(div(t.dt, constant), 1), sub(goal, last)));
  const phase = before ? turned(add(before[STRIDE.phase], div(t.dt, PERIOD)), 0) : t.random.uniforms(1)[0];
  const uneven = unevenness(t);
  const slower = max(sub(1, mul(SLOWS, max(sub(uneven, EVEN), 0))), SLOWEST);
  const wanted = valueOf(t, "wanted").map((x) => mul(x, slower));
  const followed = wanted.map((goal, i) => (before ? toward(before[STRIDE.followed + i], goal, FOLLOWS) : 0));
  const beyond = [0, 1].map((i) => sub(velocity[i], followed[i]));
  const last = before ? before.slice(STRIDE.moved, STRIDE.from) : LEGS.flatMap(() => [0, 0]);
  const away = last.reduce((most: Scalar, x) => max(most, max(x, neg(x))), 0);
  const disturbed = or(gt(far(beyond[0], beyond[1]), MOVED), or(gt(far(down[0], down[1]), TILTED), gt(away, AWAY)));
  const walks = before ? toward(before[STRIDE.walks], select(or(moves(t), disturbed), 1, 0, "f32"), STARTS) : 0;
  const stands = LEGS.map(({ offset }) => or(lt(turned(phase, offset), DUTY), lt(walks, STROLLS)));
  const moved = last.map((was, k) => {
    const aim = clamp(add(mul(CATCHES, beyond[k % 2]), mul(RIGHTS, down[k % 2])), -FARTHEST, FARTHEST);
    return select(stands[k >> 1], was, toward(was, aim, AIMS), "f32");
  });
  const heights = terrainAt(t, places(t, phase, followed, moved, stands));
  const from = heights.map((height, leg) =>
    before ? select(stands[leg], height, before[STRIDE.from + leg], "f32") : height,
  );
  const across = (...[a, b, c, d]: number[]) => sub(add(heights[a], heights[b]), add(heights[c], heights[d]));
  const plane = [
    mul(1 / 4, sum(heights)),
    mul(1 / (4 * HIP[0]), across(0, 1, 2, 3)),
    mul(1 / (4 * (HIP[1] + OUT)), across(1, 3, 0, 2)),
  ].map((goal, i) => (before ? toward(before[STRIDE.plane + i], goal, SMOOTH) : goal));
  return [phase, walks, ...followed, ...moved, ...from, ...heights, ...plane, uneven];
}

const kept = (s: Scene): readonly Scalar[] => s.memory("trot", update);

/** What a policy must know of it: its clock, how much it steps, the command as it is followed. */
export function clock(s: Scene): Scalar[] {
  const all = kept(s);
  const angle = mul(2 * Math.PI, all[STRIDE.phase]);
  return [sin(angle), cos(angle), ...all.slice(STRIDE.walks, STRIDE.moved)];
}

/** Where feet land beside the command (m). */
export const landings = (s: Scene): readonly Scalar[] => kept(s).slice(STRIDE.moved, STRIDE.from);

/** Heights of the ground under feet, or where they are to land, above their mean as it is followed (m), and its slopes. */
export function footholds(s: Scene): readonly Scalar[] {
  const all = kept(s);
  const [over, ...slopes] = all.slice(STRIDE.plane, STRIDE.uneven);
  return [...all.slice(STRIDE.to, STRIDE.plane).map((height) => sub(height, over)), ...slopes];
}

/** Where servos aim. */
export function trot(s: Scene): Scalar[] {
  const all = kept(s);
  const [phase, walks] = all;
  const followed = all.slice(STRIDE.followed, STRIDE.moved);
  const [over, ...slopes] = all.slice(STRIDE.plane, STRIDE.uneven);
  const [w, x, y, z] = s.d.qpos.run(3, 4);
  const leans = slopes.map((slope) => mul(LEANS, slope));
  const tilts = [mul(2, sub(mul(x, z), mul(w, y))), mul(2, add(mul(y, z), mul(w, x)))];
  const rates = [neg(s.d.qvel.at(4)), s.d.qvel.at(3)];
  const lift = mul(walks, add(LIFT, min(mul(CLEARS, all[STRIDE.uneven]), HIGHEST)));
  const strides = LEGS.map(({ offset }) => stride(turned(phase, offset), DUTY));
  const holds = strides.map(({ stands }) => or(stands, lt(walks, STROLLS)));
  const force = div(HOLDS * WEIGHT, max(sum(holds.map((hold) => select(hold, 1, 0, "f32"))), 1));
  return LEGS.flatMap((leg, i) => {
    const { along, up, swings } = strides[i];
    const [ahead, aside] = passes(followed, leg.x, leg.y).map((v, k) =>
      add(mul(v, mul(PERIOD * DUTY, along)), all[STRIDE.moved + 2 * i + k]),
    );
    const rises = ([dx, dy]: readonly Scalar[]) => add(mul(dx, add(leg.x, ahead)), mul(dy, add(leg.y, aside)));
    const [from, to] = [STRIDE.from, STRIDE.to].map((k) => sub(all[k + i], over));
    const lifted = add(swung({ from, to, pitch: 0, roll: 0 }, swings), mul(lift, up));
    const swing = sub(lifted, add(mul(LEVELS, rises(tilts)), mul(1 - LEVELS, rises(leans))));
    const stand = add(sub(to, rises(leans)), mul(DAMPS, rises(rates)));
    const outward = add(leg.side * (OUT + WIDE), aside);
    const at = angles(leg.side, ahead, outward, add(-HIGH, select(holds[i], stand, swing, "f32")));
    return held(at, ahead, outward, select(holds[i], force, 0, "f32"));
  });
}
