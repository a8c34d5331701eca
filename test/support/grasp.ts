// a hand-written pick and place: what the arm of envs/pick_and_place can do, without learning
const [SHOULDER, LINK, HAND] = [0.2, 0.22, 0.11];

/** Joint angles that put the grip at a place, pointing down, its fingers across a cube turned by `yaw`. */
function reach([x, y, z]: readonly number[], yaw: number): number[] {
  const [r, h] = [Math.hypot(x, y), z + HAND - SHOULDER];
  const elbow = Math.acos((r * r + h * h - 2 * LINK * LINK) / (2 * LINK * LINK));
  const lift = -Math.atan2(h, r) - elbow / 2;
  const turn = Math.atan2(y, x);
  return [turn, lift, elbow, Math.PI / 2 - lift - elbow, turn - yaw];
}

/** The action of a world in control step t: above the cube, down, shut, to the goal. Positions as in qpos. */
export function graspAction(t: number, qpos: ArrayLike<number>, start: ArrayLike<number>, goal: readonly number[]) {
  const cube = Array.from({ length: 3 }, (_, k) => start[7 + k]);
  const yaw = 2 * Math.atan2(start[13], start[10]);
  const place = t < 12 ? [cube[0], cube[1], 0.08] : t < 35 ? cube : [goal[0], goal[1], Math.max(goal[2], cube[2])];
  const angles = reach(place, yaw);
  const turns = angles.map((angle, i) => Math.max(-1, Math.min(1, (angle - qpos[i]) / 0.2)));
  return [...turns, t < 25 ? 1 : -1];
}

/**
 * The action of envs/panda in control step t: above the cube, down, shut, over its goal, down, and there open and away with
 * `release`. `cube` is from the gripper and `goal` from the cube (m).
 */
export function gripAction(t: number, cube: readonly number[], goal: readonly number[], release: boolean): number[] {
  const over = (place: readonly number[], height: number) => [place[0], place[1], place[2] + height];
  const moves: readonly (readonly [number, readonly number[], number])[] = [
    [12, over(cube, 0.1), 1],
    [30, cube, 1],
    [36, cube, -1],
    [55, over(goal, 0.06), -1],
    [85, goal, -1],
    [95, release ? [0, 0, 0] : goal, release ? 1 : -1],
    [Infinity, release ? [0, 0, 0.04] : goal, release ? 1 : -1],
  ];
  const [, move, grip] = moves.find(([until]) => t < until)!;
  return [...move.map((x) => Math.max(-1, Math.min(1, x / 0.04))), grip];
}
