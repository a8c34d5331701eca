// a walk cycle for the humanoid of envs/g1, made from where its feet are to go: `npx tsx examples/g1/make-walk.ts > examples/g1/walk.csv`
import { pathToFileURL } from "node:url";

/** Frames in a second, and how long a cycle of two steps takes (s). */
const FPS = 50;
const PERIOD = 0.9;
/** Forward speed (m/s), the part of a cycle that a foot is on the ground, how high it swings, how far the hips sway (m). */
const SPEED = 0.6;
const DUTY = 0.6;
const LIFT = 0.07;
const SWAY = 0.02;
/** Height of the pelvis; where feet are about the hips (m). */
const HEIGHT = 0.69;
const CENTRE = 0.01;

/** Of a straight leg in the plane of x and z, from the hip's pitch axis to the knee's to the ankle's (m), and ankle to sole. */
const THIGH = [0.047964, -0.303206] as const;
const SHANK = [-0.047964, -0.296212] as const;
const HIP = -0.1027;
const SOLE = 0.048558;

/** How far ahead of straight down a vector points (rad). */
const ahead = (x: number, z: number): number => Math.atan2(x, -z);

/** Hip, knee and ankle that put the ankle at (x, z) from the hip's axis, with a level foot: rotations about y. */
function leg(x: number, z: number): [hip: number, knee: number, ankle: number] {
  const [thigh, shank, far] = [Math.hypot(...THIGH), Math.hypot(...SHANK), Math.hypot(x, z)];
  const bend = Math.acos((thigh ** 2 + far ** 2 - shank ** 2) / (2 * thigh * far));
  const first = ahead(x, z) + bend;
  const second = ahead(x - thigh * Math.sin(first), z + thigh * Math.cos(first));
  const hip = ahead(...THIGH) - first;
  const knee = ahead(...SHANK) - second - hip;
  return [hip, knee, -hip - knee];
}

/** Where a foot is about the hips at a part of its cycle, which begins as it touches down: ahead, and above the ground (m). */
function foot(phase: number): [x: number, z: number] {
  const stride = SPEED * PERIOD * DUTY;
  if (phase < DUTY) return [stride / 2 - SPEED * PERIOD * phase, 0];
  // a cubic that leaves and meets the ground at its speed
  const u = (phase - DUTY) / (1 - DUTY);
  const slope = -SPEED * PERIOD * (1 - DUTY);
  const x = -stride / 2 + slope * u + 3 * (stride - slope) * u ** 2 - 2 * (stride - slope) * u ** 3;
  return [x, LIFT * Math.sin(Math.PI * u) ** 2];
}

/** Frames of qpos of one cycle, the first of the next one included. */
export function walk(): number[][] {
  const count = Math.round(PERIOD * FPS);
  return Array.from({ length: count + 1 }, (_, f) => {
    const phase = f / count;
    const [left, right] = [phase % 1, (phase + 0.5) % 1];
    // over the foot that stands alone: the left one half way through
    const sway = SWAY * Math.cos(2 * Math.PI * (phase - DUTY / 2));
    const roll = -sway / (HEIGHT + HIP - SOLE);
    const legOf = (p: number): number[] => {
      const [x, z] = foot(p);
      const [hip, knee, ankle] = leg(CENTRE + x, SOLE + z - HEIGHT - HIP);
      return [hip, roll, 0, knee, ankle, -roll];
    };
    // arms swing against the legs
    const armOf = (p: number, side: number): number[] => [0.2 + 0.3 * Math.cos(2 * Math.PI * p), 0.2 * side, 0, 1.2, 0];
    const base = [SPEED * PERIOD * phase, sway, HEIGHT, 1, 0, 0, 0];
    return [...base, ...legOf(left), ...legOf(right), 0, ...armOf(left, 1), ...armOf(right, -1)];
  });
}

const LEG = ["hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"];
const ARM = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow_pitch", "elbow_roll"];
const both = (parts: readonly string[]): string[] =>
  ["left", "right"].flatMap((side) => parts.map((p) => `${side}_${p}`));

/** The frames as CSV under the names of their columns. */
export function csv(): string {
  const names = [
    ...["x", "y", "z", "qw", "qx", "qy", "qz"].map((k) => `root_${k}`),
    ...both(LEG),
    "torso",
    ...both(ARM),
  ];
  const rows = walk().map((row) => row.map((x) => String(Number(x.toFixed(5)))));
  return `${[names, ...rows].map((r) => r.join(",")).join("\n")}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.stdout.write(csv());
