// a teacher for HandTurnCube, of one motion that fingers repeat: corral train HandTurnCube --teacher examples/hand/gait.mjs

/** Numbers of an observation, where the last action lies in it, and numbers of an action; what an action of 1 moves a servo by (rad). */
const [OBSERVATIONS, LAST, ACTIONS, SCALE] = [74, 32, 16, 0.75];
/** Seconds of a motion, and of a control step. */
const [PERIOD, STEP] = [1.421, 0.05];
/** Angle of each servo about home: offset, by the sine, by the cosine (rad). Found by a search (CEM) over motions of this form. */
const WAVES = [
  // index finger: mcp, rot, pip, dip
  [0.103, 0.618, 0.594],
  [0.035, 0.488, -0.371],
  [0.335, 0.631, -0.227],
  [0.335, 0.631, -0.227],
  // middle finger
  [-0.998, -1.479, 0.568],
  [0.097, -0.737, 0.191],
  [0.129, -0.704, 0.188],
  [0.129, -0.704, 0.188],
  // ring finger
  [0.095, 0.028, -0.577],
  [-0.211, 0.137, -1.398],
  [0.251, 0.421, -0.445],
  [0.251, 0.421, -0.445],
  // thumb: cmc, axl, mcp, ipl
  [0.356, -0.043, -0.914],
  [0.09, 0.73, 0.029],
  [0.361, -1.012, 0.234],
  [-0.249, -1.341, 0.388],
];
/** In how many phases the last action is looked for. */
const PHASES = 128;

const actionAt = (phase) =>
  WAVES.map(([offset, s, c]) => {
    const angle = offset + s * Math.sin(phase) + c * Math.cos(phase);
    return Math.max(-1, Math.min(1, angle / SCALE));
  });
const table = Array.from({ length: PHASES }, (_, i) => (2 * Math.PI * i) / PHASES).map((phase) => ({
  now: actionAt(phase),
  next: actionAt(phase + (2 * Math.PI * STEP) / PERIOD),
}));
const begin = actionAt(0);

/** What follows the last action: the motion goes on from where that is nearest to it. */
function following(last) {
  if (last.every((x) => x === 0)) return begin;
  let [best, least] = [table[0], Infinity];
  for (const row of table) {
    const distance = row.now.reduce((sum, x, i) => sum + (x - Math.max(-1, Math.min(1, last[i]))) ** 2, 0);
    if (distance < least) [best, least] = [row, distance];
  }
  return best.next;
}

/** Actions of all worlds for their observations. */
export default function actions(observations) {
  const worlds = observations.length / OBSERVATIONS;
  const all = new Float32Array(worlds * ACTIONS);
  for (let world = 0; world < worlds; world++) {
    const at = world * OBSERVATIONS + LAST;
    all.set(following(observations.subarray(at, at + ACTIONS)), world * ACTIONS);
  }
  return all;
}
