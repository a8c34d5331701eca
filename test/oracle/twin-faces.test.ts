// faces whose outlines lie on each other but for less than float32 tells: in float64 what is cut off is what MuJoCo cuts off
import { expect, test } from "vitest";
import { loadModel } from "../../src/index.ts";
import { posesAsMuJoCo } from "../support/contacts-as-mujocos.ts";
import { createRandom } from "../support/mjcf-random.ts";

const POSES = 40;
const RADIUS = 0.05;
const HEIGHT = 0.02;

/** Corners of one disc lie a few nanometres in and out of another's outline. */
const disc = (sides: number, phase: number): string =>
  [-HEIGHT, HEIGHT]
    .flatMap((z) =>
      Array.from({ length: sides }, (_, i) => {
        const angle = (2 * Math.PI * i) / sides;
        const radius = RADIUS * (1 + 1e-7 * Math.sin(5 * i + phase));
        return [radius * Math.cos(angle), radius * Math.sin(angle), z].join(" ");
      }),
    )
    .join("  ");

test.each([12, 24, 36])(
  "two equal discs of %i sides, one on the other, keep the corners that MuJoCo keeps",
  async (sides) => {
    const model = await loadModel(`
    <mujoco>
      <asset>
        <mesh name="lower" vertex="${disc(sides, 1)}"/>
        <mesh name="upper" vertex="${disc(sides, 3)}"/>
      </asset>
      <worldbody>
        <geom type="mesh" mesh="lower"/>
        <body><freejoint/><geom type="mesh" mesh="upper" mass="1"/></body>
      </worldbody>
    </mujoco>`);
    const r = createRandom(sides);
    const qpos = Array.from({ length: POSES }, () => {
      const turn = (Math.PI * Math.floor(r.between(0, sides))) / sides;
      const [about, tilt] = [r.between(0, 2 * Math.PI), r.between(0, 1e-4)];
      const at = [r.between(-3e-9, 3e-9), r.between(-3e-9, 3e-9), 2 * HEIGHT - 2e-4];
      return [...at, Math.cos(turn), tilt * Math.cos(about), tilt * Math.sin(about), Math.sin(turn)].map(Math.fround);
    });
    expect(await posesAsMuJoCo(model, qpos)).toHaveLength(POSES);
  },
);
