// faces of more corners than the polytope of a search has: all that MuJoCo keeps are kept
import { expect, test } from "vitest";
import { loadModel } from "../../src/index.ts";
import { posesAsMuJoCo } from "../support/contacts-as-mujocos.ts";
import { createRandom } from "../support/mjcf-random.ts";

const POSES = 12;
const HEIGHT = 0.02;

/** An oval can whose corners lie at uneven angles, so that no two quadrilaterals of them are as large. */
const can = (sides: number, seed: number): string => {
  const r = createRandom(seed);
  const angles = Array.from({ length: sides }, (_, i) => (2 * Math.PI * (i + r.between(-0.3, 0.3))) / sides);
  return [-HEIGHT, HEIGHT]
    .flatMap((z) => angles.map((angle) => [0.06 * Math.cos(angle), 0.05 * Math.sin(angle), z].join(" ")))
    .join("  ");
};

const mesh = (name: string, sides: number): string => `<mesh name="${name}" vertex="${can(sides, sides)}"/>`;

test.each([
  ["a can of 163 sides on a box", [163], `<geom type="box" size=".1 .1 .02"/>`],
  ["a can of 140 sides over the edge of a box", [140], `<geom type="box" size=".1 .1 .02" pos=".07 .03 0"/>`],
  ["a can of 100 sides on one of 110", [100, 110], `<geom type="mesh" mesh="lower" euler="0 0 20"/>`],
  ["a can of 168 sides on one of 155", [168, 155], `<geom type="mesh" mesh="lower" pos=".01 .02 0"/>`],
] as const)("%s keeps the corners that MuJoCo keeps", async (_, sides, lower) => {
  const model = await loadModel(`
    <mujoco>
      <asset>${sides.map((n, k) => mesh(k === 0 ? "upper" : "lower", n)).join("")}</asset>
      <worldbody>
        ${lower}
        <body><freejoint/><geom type="mesh" mesh="upper" mass="1"/></body>
      </worldbody>
    </mujoco>`);
  const r = createRandom(sides[0]);
  const qpos = Array.from({ length: POSES }, () => {
    const [about, tilt] = [r.between(0, 2 * Math.PI), r.between(0, 1e-4)];
    const at = [r.between(-0.01, 0.01), r.between(-0.01, 0.01), 2 * HEIGHT - 1e-3];
    const turn = r.between(0, 3);
    return [...at, Math.cos(turn), tilt * Math.cos(about), tilt * Math.sin(about), Math.sin(turn)].map(Math.fround);
  });
  expect(await posesAsMuJoCo(model, qpos)).toHaveLength(POSES);
});
