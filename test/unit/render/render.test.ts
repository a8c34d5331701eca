import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDevice, type GpuDevice } from "../../../src/gpu/index.ts";
import { mjtObj } from "../../../src/model/enums.ts";
import { loadModel } from "../../../src/model/model.ts";
import { createOracle } from "../../../src/model/oracle.ts";
import { freeView, pixelOf, projectionOf } from "../../../src/render/camera.ts";
import { Gif } from "../../../src/render/gif.ts";
import { png, type Picture } from "../../../src/render/png.ts";
import { DrawList, INSTANCE_FLOATS } from "../../../src/render/draw-list.ts";
import { Stage, type WorldPose } from "../../../src/render/poses.ts";
import { isShown, offsetOf, SHOWN, showWorlds, type Marks, type Shown } from "../../../src/render/show.ts";
import { Renderer } from "../../../src/render/renderer.ts";
import { SHAPE } from "../../../src/render/scene.ts";
import { contactsOf } from "../../../src/view/contacts.ts";
import { pictureBounds } from "../../support/tolerances.ts";

const [WIDTH, HEIGHT] = [160, 120];

const MODEL = `<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0  0.2 0 0  0 0.2 0  0 0 0.2"/>
    <hfield name="hill" nrow="3" ncol="3" size="1 1 0.2 0.1" elevation="0 0 0 0 1 0 0 0 0"/>
  </asset>
  <worldbody>
    <camera name="above" pos="0 0 4"/>
    <geom type="plane" size="3 3 0.1"/>
    <geom type="hfield" hfield="hill" pos="-2 -2 0" rgba="0.4 0.3 0.2 1"/>
    <body pos="0 0 0.3"><freejoint/><geom name="ball" size="0.3" rgba="1 0 0 1"/></body>
    <body pos="1 0 0.3"><joint type="slide" axis="0 1 0"/><geom name="box" type="box" size="0.2 0.2 0.2" rgba="0 1 0 1"/></body>
    <body pos="-1 0 0.5">
      <joint/>
      <geom name="stick" type="capsule" size="0.1 0.4" euler="90 0 0" rgba="0 0 1 1"/>
      <geom type="mesh" mesh="wedge" pos="0 1 0"/>
      <geom type="ellipsoid" size="0.1 0.2 0.1" pos="0 -1 0" rgba="1 1 0 0.5"/>
    </body>
    <geom name="hidden" group="3" size="0.5" pos="0 1 0.5" rgba="1 0 1 1"/>
  </worldbody>
</mujoco>`;

/** Something of everything that can be shown, and contacts that push. */
const EVERYTHING = `<mujoco><option timestep="0.002"/>
  <asset><hfield name="hill" nrow="3" ncol="3" size="1 1 0.2 0.1" elevation="0 0 0 0 1 0 0 0 0"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <material name="tiled" texture="tiles"/></asset>
  <worldbody>
    <geom type="plane" size="3 3 0.1" material="tiled"/>
    <geom type="hfield" hfield="hill" pos="-1 -1 0"/>
    <site name="anchor" pos="0.5 0 1.2" size="0.1"/>
    <body pos="0 0 0.29"><freejoint/><geom size="0.3" mass="1"/><site name="top" pos="0 0 0.3" size="0.05"/>
      <geom type="box" size="0.1 0.4 0.1" pos="0 0 0.4" contype="0" conaffinity="0" rgba="0 1 0 1"/></body>
    <body pos="1 0 0.5"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0.2" size="0.1"/></body>
    <geom group="4" size="0.3" pos="0 1 0.5" rgba="1 0 1 1"/>
  </worldbody>
  <tendon><spatial width="0.03"><site site="anchor"/><site site="top"/></spatial></tendon>
</mujoco>`;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu.close());

const colourAt = ({ width, rgba }: Picture, [x, y]: readonly number[]): number[] => {
  const at = 4 * (Math.floor(y) * width + Math.floor(x));
  return [...rgba.subarray(at, at + 3)];
};

/** The channel that outshines the others. */
const brightest = (colour: readonly number[]): number => colour.indexOf(Math.max(...colour));

async function drawn(stage: Stage, worlds: readonly WorldPose[], camera = 0, shown = SHOWN): Promise<Picture> {
  const options = { width: WIDTH, height: HEIGHT, capacity: stage.capacity(worlds.length) };
  const renderer = await Renderer.create(gpu, stage.scene, options);
  try {
    const [list, poses] = [new DrawList(), stage.poses(worlds)];
    showWorlds(list, stage.scene, poses, stage.radius, shown);
    const view = camera < 0 ? stage.freeView(poses) : stage.cameraView(camera, poses);
    return await renderer.draw(list, view, stage.reach(poses));
  } finally {
    renderer.close();
  }
}

describe("pictures", () => {
  test("show geoms where MuJoCo's camera sees them, at the state that is given", async () => {
    const model = await loadModel(MODEL, { visuals: true });
    using stage = await Stage.create(model);
    using oracle = await createOracle(model);
    expect(stage.cameras).toEqual(["above"]);
    for (const shift of [0, 0.7]) {
      const qpos = [...model.qpos0];
      qpos[7] = shift;
      const picture = await drawn(stage, [{ qpos }]);
      oracle.write("qpos", qpos);
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      const view = stage.cameraView(0, stage.poses([{ qpos }]));
      const matrix = projectionOf(view, WIDTH / HEIGHT, 0.01, 100);
      const xpos = oracle.read("geom_xpos");
      ["ball", "box", "stick"].forEach((name, channel) => {
        const id = oracle.mujoco.mj_name2id(oracle.model, mjtObj.GEOM, name);
        const at = pixelOf(matrix, [xpos[3 * id], xpos[3 * id + 1], xpos[3 * id + 2]], WIDTH, HEIGHT)!;
        expect(brightest(colourAt(picture, at)), `${name} at ${at.join(", ")}`).toBe(channel);
      });
      // the box is not where it would be elsewhere
      const elsewhere = pixelOf(matrix, [1, 0.7 - shift, 0.3], WIDTH, HEIGHT)!;
      expect(Math.max(...colourAt(picture, elsewhere)) - Math.min(...colourAt(picture, elsewhere))).toBeLessThan(40);
    }
  });

  test("are the same again, leave groups 3 to 5 out, and show many worlds side by side", async () => {
    const model = await loadModel(MODEL, { visuals: true });
    using stage = await Stage.create(model);
    const all = { ...SHOWN, groups: 255 };
    const pose = { qpos: model.qpos0 };
    const first = await drawn(stage, [pose], -1);
    expect(await drawn(stage, [pose], -1)).toEqual(first);
    const parts = (shown: Shown) => stage.scene.parts.filter((part) => isShown(part, shown)).length;
    expect(parts(all)).toBe(parts(SHOWN) + 1);
    expect(await drawn(stage, [pose], -1, all)).not.toEqual(first);
    expect(offsetOf(0, 4, stage.radius)).not.toEqual(offsetOf(3, 4, stage.radius));
    using many = await Stage.create(model);
    const four = await drawn(many, [pose, pose, pose, pose], -1);
    expect(four.rgba).not.toEqual(first.rgba);
  });

  test("stand on the floors of all worlds, wherever they are in the grid", async () => {
    const model = await loadModel(MODEL, { visuals: true });
    using stage = await Stage.create(model);
    const floorOf = (worlds: number) => {
      const list = new DrawList();
      showWorlds(
        list,
        stage.scene,
        stage.poses(Array.from({ length: worlds }, () => ({ qpos: model.qpos0 }))),
        stage.radius,
      );
      const { draws, instances } = list.pack();
      const { first } = draws.find(({ shape }) => shape === SHAPE.plane)!;
      const row = [...instances.subarray(first * INSTANCE_FLOATS, (first + 1) * INSTANCE_FLOATS)];
      return [row[3], row[7], row[12], row[13]];
    };
    expect(floorOf(1)).toEqual([0, 0, 3, 3]);
    for (const worlds of [6, 25]) {
      const [x, y] = offsetOf(0, worlds, stage.radius);
      const wanted = [0, 0, 3 - x, 3 - y];
      floorOf(worlds).forEach((found, i) => expect(found).toBeCloseTo(wanted[i], 4));
    }
  });

  test("of a crowd, which the device places, are those of the list, in less detail where it is small", async () => {
    const model = await loadModel(MODEL, { visuals: true });
    using stage = await Stage.create(model);
    const worlds = Array.from({ length: 25 }, (_, w) => {
      const qpos = Array.from(model.qpos0);
      // each turned and moved in its own way
      qpos.splice(2, 5, 0.3 + 0.02 * w, Math.cos(w), Math.sin(w), 0, 0);
      qpos[7] = 0.02 * w;
      qpos[8] = 0.2 * w;
      return { qpos };
    });
    const poses = stage.poses(worlds);
    const list = new DrawList();
    const options = { width: WIDTH, height: HEIGHT, capacity: 10 };
    const renderer = await Renderer.create(gpu, stage.scene, options);
    try {
      const draw = async (distance: number, marks: Marks) => {
        showWorlds(list, stage.scene, poses, stage.radius, SHOWN, marks);
        const camera = { ...stage.freeCamera(poses), distance };
        const { rgba } = await renderer.draw(list, freeView(camera), stage.reach(poses));
        return { rgba, triangles: renderer.triangles, inList: list.count };
      };
      // a world that is not there keeps all of them in the list
      const apart = { hidden: new Set([worlds.length]) };
      for (const distance of [4, 40]) {
        const [crowd, listed] = [await draw(distance, {}), await draw(distance, apart)];
        expect(crowd.inList).toBeLessThan(listed.inList / 2);
        let off = 0;
        crowd.rgba.forEach((x, i) => (off += Math.abs(x - listed.rgba[i])));
        expect(off / crowd.rgba.length, `at ${distance} m`).toBeLessThan(pictureBounds.detail.value);
        // the same again
        expect((await draw(distance, {})).rgba).toEqual(crowd.rgba);
      }
      const [near, far] = [await draw(1, {}), await draw(60, {})];
      expect(far.triangles).toBeLessThan(0.7 * near.triangles);
      // one that is chosen is drawn by the list, in its colour
      const chosen = await draw(8, { chosen: { world: 12, body: 1 } });
      expect(chosen.rgba).not.toEqual((await draw(8, {})).rgba);
    } finally {
      renderer.close();
    }
  });

  test("show each thing that can be shown, and without it what they were", async () => {
    const model = await loadModel(EVERYTHING, { visuals: true });
    using stage = await Stage.create(model);
    const list = new DrawList();
    const options = { width: WIDTH, height: HEIGHT, capacity: 10 };
    const renderer = await Renderer.create(gpu, stage.scene, options);
    try {
      const state = { qpos: model.qpos0, qvel: new Float64Array(model.nv) };
      const poses = { ...stage.poses([state]), contacts: contactsOf(stage.oracle, state, 0) };
      expect(poses.contacts.length).toBeGreaterThan(0);
      const draw = async (change: Partial<Shown>) => {
        showWorlds(list, stage.scene, poses, stage.radius, { ...SHOWN, ...change });
        return Buffer.from((await renderer.draw(list, stage.freeView(poses), stage.reach(poses))).rgba);
      };
      const usual = await draw({});
      const seen = new Map<string, Buffer>();
      for (const [name, value] of Object.entries(SHOWN)) {
        if (typeof value !== "boolean") continue;
        const other = await draw({ [name]: !value });
        expect(other.equals(usual), name).toBe(false);
        for (const [before, picture] of seen) expect(other.equals(picture), `${name} and ${before}`).toBe(false);
        seen.set(name, other);
      }
      for (const geoms of ["collision", "visual"] as const) expect((await draw({ geoms })).equals(usual)).toBe(false);
      expect((await draw({ groups: 63 })).equals(usual)).toBe(false);
      expect((await draw({})).equals(usual)).toBe(true);
    } finally {
      renderer.close();
    }
  });

  test("frame more worlds than a call takes arguments", async () => {
    const xml = `<mujoco><worldbody><body><freejoint/><geom size="0.3"/></body></worldbody></mujoco>`;
    const worlds = Array.from({ length: 150_000 }, () => ({ qpos: [0, 0, 0, 1, 0, 0, 0] }));
    using one = await Stage.create(await loadModel(xml));
    using many = await Stage.create(await loadModel(xml));
    expect(many.reach(many.poses(worlds))).toBeGreaterThan(100 * one.reach(one.poses(worlds.slice(0, 1))));
  });

  test("become files: a PNG of the same pixels, and a GIF that has them all", () => {
    const rgba = Uint8Array.from({ length: 4 * 5 * 3 }, (_, i) => (i * 37) % 256);
    const bytes = png({ width: 5, height: 3, rgba });
    const from = bytes.indexOf("IDAT") + 4;
    const rows = inflateSync(bytes.subarray(from, from + bytes.readUInt32BE(from - 8)));
    expect(bytes.readUInt32BE(16)).toBe(5);
    for (let y = 0; y < 3; y++) {
      expect(rows[y * 16]).toBe(1);
      const pixel = [0, 0, 0];
      for (let x = 0; x < 5; x++) {
        for (let c = 0; c < 3; c++) pixel[c] = (pixel[c] + rows[y * 16 + 1 + 3 * x + c]) % 256;
        expect(pixel).toEqual([...rgba.subarray(4 * (5 * y + x), 4 * (5 * y + x) + 3)]);
      }
    }
    const gif = new Gif(0.05);
    gif.add({ width: 5, height: 3, rgba });
    gif.add({ width: 5, height: 3, rgba: rgba.toReversed() });
    const out = Buffer.from(gif.bytes());
    expect(out.subarray(0, 6).toString("latin1")).toBe("GIF89a");
    expect([out.readUInt16LE(6), out.readUInt16LE(8)]).toEqual([5, 3]);
    // a graphic control extension for each picture
    expect(out.toString("latin1").split("\x21\xf9\x04").length - 1).toBe(2);
  });
});
