// corners that two faces share, of areas that tie but for float32's coordinates: in float64 which four are kept is MuJoCo's
import { expect, test } from "vitest";
import { loadModel } from "../../src/index.ts";
import { posesAsMuJoCo } from "../support/contacts-as-mujocos.ts";
import { createRandom } from "../support/mjcf-random.ts";

const POSES = 30;
const SIDES = 12;

/** Corners of a prism of sides that are equal but for what float64 tells, and float32 does not tell of areas. */
const prism = (radius: number, height: number): string =>
  [-height, height]
    .flatMap((z) =>
      Array.from({ length: SIDES }, (_, i) => {
        const angle = (2 * Math.PI * i) / SIDES;
        const r = radius * (1 + 3e-7 * Math.sin(5 * i + 1));
        return [r * Math.cos(angle), r * Math.sin(angle), z].join(" ");
      }),
    )
    .join("  ");

const SCENES = {
  "a small prism on a box": { under: `<geom type="box" size=".2 .2 .1"/>`, radius: 0.05 },
  "a large prism on a small one": { under: `<geom type="mesh" mesh="small"/>`, radius: 0.4 },
};
const DEVICES = ["cpu-f64", "wasm"] as const;
const cases = Object.keys(SCENES).flatMap((name) =>
  DEVICES.map((device) => [name as keyof typeof SCENES, device] as const),
);

// float32 looks up what a polygon keeps that is whole
test.each(cases)("%s of twelve equal sides keeps on %s the corners that it keeps in MuJoCo", async (name, device) => {
  const { under, radius } = SCENES[name];
  const model = await loadModel(`
    <mujoco>
      <asset>
        <mesh name="prism" vertex="${prism(radius, 0.02)}"/>
        <mesh name="small" vertex="${prism(0.05, 0.1)}"/>
      </asset>
      <worldbody>
        ${under}
        <body><freejoint/><geom type="mesh" mesh="prism" mass="1"/></body>
      </worldbody>
    </mujoco>`);
  const r = createRandom(5);
  const qpos = Array.from({ length: POSES }, () => {
    const turn = r.between(0, Math.PI);
    return [r.between(-0.1, 0.1), r.between(-0.1, 0.1), 0.119, Math.cos(turn), 0, 0, Math.sin(turn)].map(Math.fround);
  });
  expect(await posesAsMuJoCo(model, qpos, device)).toHaveLength(POSES);
});
