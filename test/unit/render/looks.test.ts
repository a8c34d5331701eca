// textures, skies, materials and lights of a model, as pictures show them, and shapes that face outwards
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDevice, type GpuDevice } from "../../../src/gpu/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { DrawList } from "../../../src/render/draw-list.ts";
import { Stage } from "../../../src/render/poses.ts";
import { Renderer } from "../../../src/render/renderer.ts";
import { coarse, PRIMITIVES, surface, VERTEX_FLOATS, type Shape } from "../../../src/render/shapes.ts";
import { SHOWN, showWorlds, type Shown } from "../../../src/render/show.ts";
import { levelsOf, textureOf } from "../../../src/render/textures.ts";

import { fromKept } from "../../support/browser-page.ts";
import { pictureBounds } from "../../support/tolerances.ts";

const SIDE = 64;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu.close());

/** The colour of a picture by its camera, at shares of its width and height. */
async function drawn(xml: string, shown: Shown = SHOWN): Promise<(x: number, y: number) => number[]> {
  const model = await loadModel(`<mujoco>${xml}</mujoco>`, { visuals: true });
  using stage = await Stage.create(model);
  const renderer = await Renderer.create(gpu, stage.scene, { width: SIDE, height: SIDE, capacity: 10 });
  try {
    const [list, poses] = [new DrawList(), stage.poses([{ qpos: model.qpos0 }])];
    showWorlds(list, stage.scene, poses, stage.radius, shown);
    const { rgba } = await renderer.draw(list, stage.cameraView(0, poses), stage.reach(poses));
    return (x, y) => {
      const at = 4 * (Math.floor(y * SIDE) * SIDE + Math.floor(x * SIDE));
      return [...rgba.subarray(at, at + 3)];
    };
  } finally {
    renderer.close();
  }
}
const sum = (colour: readonly number[]): number => colour.reduce((a, b) => a + b);
const brightest = (colour: readonly number[]): number => colour.indexOf(Math.max(...colour));

/** Looks down on a plane of two by two metres, which fills the picture. */
const ABOVE = `<camera pos="0 0 2" fovy="50"/>`;
const plane = (more: string) => `<geom type="plane" size="1 1 0.1" ${more}/>`;
const CHECKER = `<texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="64" height="64"/>`;

describe("pictures show of a model", () => {
  test("textures where MuJoCo's renderer has them: over x, and down y, repeated", async () => {
    const tiled = (repeat: string) =>
      `<asset>${CHECKER}<material name="m" texture="t" ${repeat}/></asset>
      <worldbody>${ABOVE}${plane('material="m"')}</worldbody>`;
    const once = await drawn(tiled(""));
    // the first texel is red, and lies at -x +y
    expect([once(0.25, 0.25), once(0.75, 0.25), once(0.25, 0.75), once(0.75, 0.75)].map(brightest)).toEqual([
      0, 2, 2, 0,
    ]);
    const twice = await drawn(tiled('texrepeat="2 1"'));
    expect([0.15, 0.35, 0.65, 0.85].map((x) => brightest(twice(x, 0.25)))).toEqual([2, 0, 2, 0]);
    // in metres: half a repetition a metre, whatever the size
    const small = tiled('texuniform="true" texrepeat="2 2"').replace('size="1 1', 'size="0.9 0.9');
    const uniform = await drawn(small);
    expect([0.15, 0.35, 0.65, 0.85].map((x) => brightest(uniform(x, 0.25)))).toEqual([2, 0, 2, 0]);
    const without = await drawn(tiled(""), { ...SHOWN, textures: false });
    expect(Math.max(...without(0.25, 0.25)) - Math.min(...without(0.25, 0.25))).toBeLessThan(40);
  });

  test("cubes by direction, and a sky where nothing else is", async () => {
    const cube = `<texture name="t" type="cube" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="32" height="32"/>`;
    const ball = await drawn(`<asset>${cube}<material name="m" texture="t"/></asset>
      <worldbody><camera pos="0 -2 0" xyaxes="1 0 0 0 0 1" fovy="60"/><geom size="0.5" material="m"/></worldbody>`);
    const [upper, lower] = [ball(0.5, 0.3), ball(0.5, 0.7)];
    expect(upper).not.toEqual(lower);
    const sky = `<asset><texture type="skybox" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="32" height="32"/></asset>`;
    const look = (axes: string) => drawn(`${sky}<worldbody><camera xyaxes="${axes}"/></worldbody>`);
    expect(brightest((await look("1 0 0 0 -1 0"))(0.5, 0.5)), "up").toBe(0);
    expect(brightest((await look("1 0 0 0 1 0"))(0.5, 0.5)), "down").toBe(2);
  });

  test("lights: cones, several, shadows that are cast or not, and what shines by itself", async () => {
    const body = `<body pos="0 0 0.3"><freejoint/><geom size="0.2"/></body>`;
    const lit = (lights: string, more = "") =>
      drawn(`<visual><headlight diffuse="0 0 0" ambient="0.05 0.05 0.05"/></visual>
        <worldbody>${ABOVE}${lights}${plane('rgba="0.8 0.8 0.8 1"')}${more}</worldbody>`);
    const cone = await lit(`<light pos="0 0 2" dir="0 0 -1" cutoff="15"/>`);
    expect(sum(cone(0.5, 0.6))).toBeGreaterThan(1.5 * sum(cone(0.06, 0.06)));
    // from the side, so that the ball does not hide its shadow
    const slanted = (casts: string) => `<light directional="true" dir="-1 0 -1" castshadow="${casts}"/>`;
    const [shadow, none] = [await lit(slanted("true"), body), await lit(slanted("false"), body)];
    expect(sum(shadow(0.32, 0.5))).toBeLessThan(0.7 * sum(none(0.32, 0.5)));
    expect(shadow(0.8, 0.8)).toEqual(none(0.8, 0.8));
    const spot = `<light pos="1 0 1.3" dir="-1 0 -1" cutoff="40" castshadow="CASTS"/>`;
    const [near, nearNone] = [
      await lit(spot.replace("CASTS", "true"), body),
      await lit(spot.replace("CASTS", "false"), body),
    ];
    expect(sum(near(0.32, 0.5))).toBeLessThan(0.8 * sum(nearNone(0.32, 0.5)));
    // the second light fills the shadow of the first, and has its own
    const two = await lit(`${slanted("true")}<light directional="true" dir="1 0 -1" diffuse="0 0 0.7"/>`, body);
    expect(brightest(two(0.32, 0.5))).toBe(2);
    expect(two(0.68, 0.5)[2]).toBeLessThan(two(0.9, 0.9)[2]);
    const off = await lit(slanted("true").replace("<light", '<light active="false"'));
    const glow = await drawn(`<asset><material name="m" rgba="0 1 0 1" emission="1"/></asset>
      <visual><headlight active="0"/></visual><worldbody>${ABOVE}${plane('material="m"')}</worldbody>`);
    expect(sum(off(0.5, 0.5))).toBeLessThan(sum(none(0.8, 0.8)));
    expect(glow(0.5, 0.5)[1]).toBeGreaterThan(200);
  });
});

test("pictures of everything at once stay what they were", async () => {
  const model = await loadModel(
    `<mujoco><asset>
      <texture type="skybox" builtin="gradient" rgb1="0.3 0.5 0.7" rgb2="0.9 0.9 0.85" width="64" height="64"/>
      <texture name="tiles" type="2d" builtin="checker" rgb1="0.2 0.3 0.4" rgb2="0.1 0.2 0.3" width="64" height="64"/>
      <texture name="dice" type="cube" builtin="flat" mark="cross" rgb1="0.8 0.6 0.4" markrgb="1 1 1" width="31" height="31"/>
      <material name="floor" texture="tiles" texuniform="true" texrepeat="2 2"/><material name="dice" texture="dice"/>
      <material name="shiny" rgba="0.2 0.6 0.3 1" specular="1" shininess="0.8"/></asset>
      <worldbody><camera pos="0 -3 1.5" xyaxes="1 0 0 0 0.4 1"/>
      <light pos="-1.5 -1.5 3" dir="0.5 0.5 -1" cutoff="35" diffuse="0.9 0.7 0.5"/>
      <light directional="true" dir="-0.6 0.3 -1" diffuse="0.4 0.5 0.7"/>
      <geom type="plane" size="0 0 1" material="floor"/>
      <body pos="-0.4 0 0.4"><freejoint/><geom type="box" size="0.3 0.3 0.3" material="dice"/></body>
      <body pos="0.5 0 0.5"><freejoint/><geom type="capsule" size="0.2 0.2" material="shiny"/></body></worldbody></mujoco>`,
    { visuals: true },
  );
  using stage = await Stage.create(model);
  const renderer = await Renderer.create(gpu, stage.scene, { width: 160, height: 120, capacity: 10 });
  const [list, poses] = [new DrawList(), stage.poses([{ qpos: model.qpos0 }])];
  showWorlds(list, stage.scene, poses, stage.radius);
  const picture = await renderer.draw(list, stage.cameraView(0, poses), stage.reach(poses));
  renderer.close();
  expect(fromKept("looks", picture)).toBeLessThan(pictureBounds.kept.value);
});

test("shapes face outwards, whatever their detail", () => {
  const heights = [0, 0.2, 0.1, 0.3, 1, 0.2, 0, 0.1, 0.5];
  const all = [...Object.values(PRIMITIVES).map((make) => make()), ...coarse(), surface(heights, 3, 3, [1, 1, 1])];
  for (const [i, shape] of all.entries()) expect(inwards(shape), `shape ${i}`).toBe(0);
});

/** Faces whose corners turn the other way than their normals say. */
function inwards({ vertices, indices }: Shape): number {
  const of = (corner: number, from: number) =>
    [0, 1, 2].map((k) => vertices[VERTEX_FLOATS * indices[corner] + from + k]);
  let found = 0;
  for (let face = 0; face < indices.length; face += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => of(face + k, 0));
    const [p, q] = [b, c].map((x) => x.map((v, k) => v - a[k]));
    const turn = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    const normal = [0, 1, 2].map((k) => of(face, 3)[k] + of(face + 1, 3)[k] + of(face + 2, 3)[k]);
    if (turn.reduce((total, t, k) => total + t * normal[k], 0) < -1e-9) found++;
  }
  return found;
}

test("textures keep the mean of their texels down to one, and large ones shrink", () => {
  const data = Uint8Array.from({ length: 8 * 4 * 3 }, (_, i) => (i * 53) % 256);
  const texture = textureOf("image", 8, 4, 3, data);
  const levels = levelsOf(texture);
  expect(levels.map(({ width, height }) => [width, height])).toEqual([
    [8, 4],
    [4, 2],
    [2, 1],
    [1, 1],
  ]);
  const red = data.filter((_, i) => i % 3 === 0);
  expect(Math.abs((levels[3].texels[0] & 255) - red.reduce((a, b) => a + b) / red.length)).toBeLessThan(2);
  expect(texture.texels[0] >>> 24).toBe(255);
  // one face stands for all six
  const cube = textureOf(
    "cube",
    2,
    2,
    3,
    Uint8Array.from({ length: 12 }, (_, i) => i),
  );
  expect(cube.texels).toHaveLength(24);
  expect(cube.texels.slice(20)).toEqual(cube.texels.slice(0, 4));
  expect(textureOf("cube", 1024, 6144, 1, new Uint8Array(1024 * 6144)).width).toBe(512);
});
