// a teacher for ArmLift and ArmPlace, of rules instead of a network: corral train ArmPlace --teacher examples/panda/planner.mjs

/** Numbers of an observation and of an action; how far an action moves the gripper (m). */
const [OBSERVATIONS, ACTIONS, STRIDE] = [30, 4, 0.04];
const [OPEN, SHUT] = [1, -1];
/** How near is there (m), over the cube and at it; from where the cube is let go, and how far from there it counts as laid. */
const [OVER, AT, LET_GO, LAID] = [0.012, 0.012, 0.012, 0.025];
/** How high above the cube the gripper comes from, how high above a shelf the cube is carried, and how near to it (m). */
const [ABOVE, CARRIED, NEAR] = [0.08, 0.05, 0.015];
/** A goal lower than this is on the shelf (m). */
const SHELF = 0.08;
/** Fingers that are as far open hold nothing (m). */
const FREE = 0.026;

const across = ([x, y]) => Math.hypot(x, y);
const long = (v) => Math.hypot(...v);

/** Where the gripper is to go from here, and what the fingers are to do. */
function plan({ grip, fingers, held, cube, goal }) {
  const height = grip[2] + cube[2];
  const laid = height + goal[2] < SHELF && long(goal) < LAID;
  if (held > 0.3 && long(cube) < 0.03) {
    if (height + goal[2] > SHELF) return [height < 0.05 ? [0, 0, 0.04] : goal, SHUT];
    if (long(goal) < LET_GO) return [[0, 0, 0], OPEN];
    if (across(goal) < NEAR) return [goal, SHUT];
    const up = goal[2] + CARRIED;
    return [up > 0.02 ? [0, 0, up] : [goal[0], goal[1], up], SHUT];
  }
  if (laid) return [fingers < FREE ? [0, 0, 0] : [0, 0, cube[2] + ABOVE], OPEN];
  if (long(cube) < AT) return [cube, SHUT];
  if (across(cube) < OVER) return [cube, OPEN];
  return [[cube[0], cube[1], cube[2] + ABOVE], OPEN];
}

/** Actions of all worlds for their observations. */
export default function actions(observations) {
  const worlds = observations.length / OBSERVATIONS;
  const all = new Float32Array(worlds * ACTIONS);
  for (let world = 0; world < worlds; world++) {
    const seen = observations.subarray(world * OBSERVATIONS, (world + 1) * OBSERVATIONS);
    const place = (from) => Array.from(seen.subarray(from, from + 3), (x) => x / 5);
    const state = { grip: [...seen.subarray(0, 3)], fingers: seen[10] / 25, held: seen[11] };
    const [move, grasp] = plan({ ...state, cube: place(12), goal: place(27) });
    all.set([...move.map((x) => Math.max(-1, Math.min(1, x / STRIDE))), grasp], world * ACTIONS);
  }
  return all;
}
