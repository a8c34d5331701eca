// tasks on terrain: heights under a body are what mj_ray finds, worlds stand on level middles, and come to harder rows
import { describe, expect, test } from "vitest";
import { bodyId, makeVec, startAround, terrainAt, terrainHeights, terrainRow, type Task } from "../../src/env/index.ts";
import { add } from "../../src/trace/scalar.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { makeTerrain, patchAt } from "../../src/model/terrain/terrain.ts";
import { rover } from "../support/rover.ts";
import { rayBounds } from "../support/tolerances.ts";

const KINDS = ["rough", "stairs-up", "slope-down", "stepping-stones"] as const;
const GROUND = makeTerrain({ seed: 3, rows: 3, columns: KINDS, patch: 2.4, middle: 0.8, border: 1 });
const GRID = { size: [1.6, 1.2], counts: [6, 5] } as const;
const COUNT = 30;

const onTerrain = (changes: Partial<Task> = {}): Task =>
  rover({
    id: "OnTerrain",
    terrain: { ground: GROUND, geom: "floor" },
    observe: { heights: terrainHeights("torso", GRID), pose: "qpos[0:7]" },
    info: { row: terrainRow() },
    reset: startAround({ qpos: 0.3 }),
    ...changes,
  });

describe("heights about a body", () => {
  test.each([
    ["cpu-f64", undefined],
    ["cpu", false],
  ] as const)("are what mj_ray finds, on %s, unroll %s", async (device, unroll) => {
    const worlds = 12;
    const bound = device === "cpu-f64" ? rayBounds.exact.value : rayBounds.single.value;
    await using env = await makeVec(onTerrain(), {
      numEnvs: worlds,
      device,
      recorder: false,
      ...(unroll === false && { unroll }),
    });
    const { observations } = await env.reset({ seed: 2 });
    const { qpos, ...at } = await env.getState(["qpos", "terrain_x", "terrain_y", "terrain_z"]);
    const places = new Set<string>();
    await withMuJoCo(env.model, ({ mujoco, model, data, write }) => {
      const normal = new mujoco.DoubleBuffer(3);
      const geom = new mujoco.IntBuffer(1);
      for (let w = 0; w < worlds; w++) {
        const ground = [at.terrain_x[w], at.terrain_y[w], at.terrain_z[w]];
        places.add(`${ground[0].toFixed(3)} ${ground[1].toFixed(3)}`);
        model.geom_pos.set(ground, 0);
        write("qpos", qpos.subarray(w * 9, w * 9 + 9));
        mujoco.mj_forward(model, data);
        const [x, y, z] = qpos.subarray(w * 9, w * 9 + 3);
        const [q0, q1, q2, q3] = qpos.subarray(w * 9 + 3, w * 9 + 7);
        const turn = Math.atan2(2 * (q0 * q3 + q1 * q2), q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3);
        for (let k = 0; k < COUNT; k++) {
          const dx = -0.8 + (1.6 * (k % 6)) / 5;
          const dy = -0.6 + (1.2 * Math.floor(k / 6)) / 4;
          const from = [
            x + Math.cos(turn) * dx - Math.sin(turn) * dy,
            y + Math.sin(turn) * dx + Math.cos(turn) * dy,
            9,
          ];
          // only what does not move is in the way
          const dist = mujoco.mj_ray(model, data, from, [0, 0, -1], [1, 1, 1, 1, 1, 1], true, 1, geom, normal);
          const met = (geom.GetView() as Int32Array)[0];
          const low = mujoco.mj_ray(
            model,
            data,
            [from[0], from[1], z - 0.3],
            [0, 0, -1],
            [1, 1, 1, 1, 1, 1],
            true,
            1,
            geom,
            normal,
          );
          const wanted = met === 0 ? 9 - dist - z : -0.3 - low;
          expect(Math.abs(observations[w * (COUNT + 7) + k] - wanted), `world ${w}, ray ${k}`).toBeLessThan(bound);
        }
      }
    });
    expect(places.size).toBeGreaterThan(6);
  });

  test("need a terrain", async () => {
    const { terrain: _, ...plain } = onTerrain();
    await expect(makeVec(plain, { numEnvs: 1, device: "cpu" })).rejects.toThrow(/group terrain/);
  });
});

test.each([
  [undefined, /bad-option.*options of terrainHeights is undefined/],
  [{ size: [1, 1], counts: [2, 2], axes: "yaw" }, /axes of terrainHeights is "yaw"; it is "heading" or "world"/],
  [{ size: [1, 1], counts: [2, 2], offset: [0, 0, 1] }, /terrainHeights has no option "offset"/],
  [{ size: [-1, 1], counts: [2, 2] }, /size of rayGrid is \[-1,1\]; it is two numbers of at least 0/],
  [{ size: [1, 1], counts: [1000, 1000] }, /counts of rayGrid is \[1000,1000\]; .*16384 rays at most/],
])("heights of %j are refused", async (options, says) => {
  const task = onTerrain({ observe: { h: terrainHeights("torso", options as never) } });
  await expect(makeVec(task, { numEnvs: 1, device: "cpu" })).rejects.toThrow(says);
});

test("heights at points are those about a body at these points", async () => {
  const offsets = [-0.4, 0, 0.4];
  const grid = offsets.flatMap((y) => offsets.map((x) => [x, y] as const));
  const task = onTerrain({
    observe: {
      z: "xpos(body.torso).z",
      about: terrainHeights("torso", { size: [0.8, 0.8], counts: [3, 3], axes: "world" }),
      at: (s) => {
        const [x, y] = s.d.xpos.vec3(bodyId(s.model, "body", "torso"));
        return terrainAt(
          s,
          grid.map(([dx, dy]) => [add(x, dx), add(y, dy)] as const),
        );
      },
    },
    reset: () => ({ qpos: [0.7, -0.6, 0.25, 1, 0, 0, 0, 0, 0] }),
  });
  await using env = await makeVec(task, { numEnvs: 12, device: "wasm", threads: 1 });
  const { observations } = await env.reset({ seed: 1 });
  const heights = new Set<number>();
  for (let w = 0; w < 12; w++) {
    const [z, ...numbers] = observations.subarray(19 * w, 19 * w + 19);
    for (let k = 0; k < 9; k++) {
      expect(Math.abs(numbers[k] + z - numbers[9 + k]), `world ${w}, point ${k}`).toBeLessThan(rayBounds.single.value);
      heights.add(numbers[9 + k]);
    }
  }
  expect(heights.size).toBeGreaterThan(20);
});

test("worlds stand on the level middle of their patch", async () => {
  const task = onTerrain({
    reset: () => ({ qpos: [0, 0, 0.25, 1, 0, 0, 0, 0, 0] }),
    observe: { z: "xpos(body.torso).z", h: terrainHeights("torso", { size: [0.6, 0.6], counts: [3, 3] }) },
  });
  await using env = await makeVec(task, { numEnvs: 16, device: "wasm", threads: 1 });
  const { observations } = await env.reset({ seed: 1 });
  for (let w = 0; w < 16; w++)
    for (let k = 1; k < 10; k++) expect(observations[10 * w] + observations[10 * w + k]).toBeCloseTo(0, 4);
});

describe("rows by performance", () => {
  const task = onTerrain({
    terrain: { ground: GROUND, geom: "floor", promote: "param.goes > 0.5", demote: "param.goes < -0.5" },
    params: { goes: 1 },
    maxEpisodeSteps: 3,
    observe: { row: terrainRow() },
  });
  /** Rows of five worlds at the starts of episodes. */
  async function rows(device: "cpu" | "wasm", autoreset: "next-step" | "same-step", order: readonly number[]) {
    await using env = await makeVec(task, { numEnvs: 5, device, autoreset });
    await env.reset({ seed: 7 });
    const out: number[][] = [];
    const note = () =>
      env.getState(["terrain_x"]).then((s) => out.push(Array.from(s.terrain_x, (x) => Math.round(1 - x / 2.4))));
    await note();
    for (const goes of order) {
      await env.setParams({ goes });
      for (let t = 0; t < (autoreset === "next-step" ? 4 : 3); t++) await env.step(new Float32Array(10));
      await note();
    }
    return out;
  }

  test.each(["next-step", "same-step"] as const)("go up and down, with autoreset %s", async (autoreset) => {
    const found = await rows("cpu", autoreset, [1, 1, 0, -1, -1, -1]);
    expect(found.map((r) => [...new Set(r)])).toEqual([[0], [1], [2], [2], [1], [0], [0]]);
  });

  test("from beyond the hardest a world comes to any, the same on every device", async () => {
    const order = [1, 1, 1, 1, 1, 1, 1, 1, 1];
    const found = await rows("cpu", "same-step", order);
    expect(new Set(found.slice(3).flat())).toEqual(new Set([0, 1, 2]));
    expect(await rows("wasm", "same-step", order)).toEqual(found);
  });

  test("a seed begins anew", async () => {
    await using env = await makeVec(task, { numEnvs: 3, device: "cpu", autoreset: "same-step" });
    await env.reset({ seed: 7 });
    for (let t = 0; t < 6; t++) await env.step(new Float32Array(6));
    await env.reset({ seed: 7 });
    const { terrain_x } = await env.getState(["terrain_x"]);
    expect(Array.from(terrain_x)).toEqual([0, 1, 2].map(() => expect.closeTo(-patchAt(GROUND, 0, 0)[0], 5)));
  });
});

describe("what worlds draw may follow parameters", () => {
  const drawn = (set: object) =>
    onTerrain({
      terrain: undefined,
      observe: { q: "qpos" },
      info: {},
      params: { most: 0.5 },
      randomise: { floor: { field: "geom_friction", of: "floor", element: 0, set } as never },
    });

  test("between ends that are expressions, clamped to what was said", async () => {
    await using env = await makeVec(drawn({ between: [0.2, "param.most"], within: [0.1, 1] }), {
      numEnvs: 200,
      device: "cpu",
    });
    const spread = async (most: number) => {
      await env.setParams({ most });
      await env.reset({ seed: 1 });
      const { floor } = await env.getState(["floor"]);
      return [Math.min(...floor), Math.max(...floor)];
    };
    expect(await spread(0.5)).toEqual([expect.closeTo(0.2, 1), expect.closeTo(0.5, 1)]);
    expect(await spread(9)).toEqual([expect.closeTo(0.2, 1), expect.closeTo(1, 1)]);
    await env.setParams({ most: [...Array(200).keys()].map((w) => 0.2 + w * 1e-3) });
    await env.reset({ seed: 1 });
    const { floor } = await env.getState(["floor"]);
    floor.forEach((x, w) => expect(x).toBeLessThanOrEqual(0.2 + w * 1e-3 + 1e-6));
  });

  test("a value, with the episode's number", async () => {
    await using env = await makeVec(drawn({ value: "0.1 * (episode + 1)", within: [0, 0.25] }), {
      numEnvs: 2,
      device: "cpu",
    });
    const seen: number[] = [];
    for (const seed of [1, undefined, undefined]) {
      await env.reset(seed === undefined ? {} : { seed });
      seen.push((await env.getState(["floor"])).floor[0]);
    }
    expect(seen).toEqual([0.1, 0.2, 0.25].map((x) => expect.closeTo(x, 6)));
  });

  test.each([
    [{ value: "qpos[0]", within: [0, 1] }, /before the episode has a state/],
    [{ value: "param.least", within: [0, 1] }, /no parameter|nearest/],
    [{ value: "param.most" }, /a distribution is/],
    [{ between: ["1"], within: [0, 1] }, /a distribution is/],
    [{ value: "[1, 2]", within: [0, 1] }, /one number/],
    [{ value: "param.most", within: [-1, 1] }, /it stays at least 0/],
  ])("%j is refused", async (set, message) => {
    await expect(makeVec(drawn(set), { numEnvs: 1, device: "cpu" })).rejects.toThrow(message);
  });
});

test.each([
  [{ ground: GROUND, geom: "flor" }, /nearest: floor/],
  [{ ground: GROUND, geom: "floor", startRows: 4 }, /startRows of its terrain is 4/],
  [{ ground: GROUND, geom: "floor", promot: "true" }, /no option "promot"/],
  [{ ground: GROUND, geom: "floor", promote: "1" }, /one condition/],
  [{ geom: "floor" }, /makeTerrain/],
])("a terrain that makes no sense is refused", async (terrain, message) => {
  await expect(makeVec(onTerrain({ terrain } as never), { numEnvs: 1, device: "cpu" })).rejects.toThrow(message);
});
