// a teacher for HandTurnCube, of one motion that fingers repeat: corral train HandTurnCube --teacher examples/hand/gait.mjs

/** Numbers of an observation, where the last action lies in it, and numbers of an action; what an action of 1 moves a servo by (rad). */
const [OBSERVATIONS, LAST, ACTIONS, SCALE] = [74, 32, 16, 0.75];
/** Seconds of a motion, and of a control step. */
const [PERIOD, STEP] = [1.464, 0.05];
/** Angle of each servo about home: offset, by the sine, by the cosine (rad). Found by a search (CEM) over motions of this form. */
const WAVES = [
  // index finger: mcp, rot, pip, dip
  [-0.005, 0.425, 0.448],
  [0.073, 0.006, -0.475],
  [0.226, 0.201, -0.01],
  [0.226, 0.201, -0.01],
  // middle finger
  [-0.263, -0.514, 0.195],
  [-0.076, -0.325, 0.508],
  [0.18, -0.43, -0.221],
  [0.18, -0.43, -0.221],
  // ring finger
  [0.157, 0.049, -0.623],
  [-0.123, -0.114, -0.895],
  [0.333, 0.235, -0.329],
  [0.333, 0.235, -0.329],
  // thumb: cmc, axl, mcp, ipl
  [0.063, -0.058, -0.761],
  [-0.234, 0.69, -0.617],
  [0.432, -1.085, 0.552],
  [-0.1, -0.569, 0.198],
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
