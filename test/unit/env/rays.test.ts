// rays as terms of tasks: what they tell is what mj_ray finds from where the pattern is
import { describe, expect, test } from "vitest";
import type { CorralError } from "../../../src/core/errors.ts";
import {
  makeVec,
  rayFan,
  rayGrid,
  rays,
  startAround,
  type PatternRay,
  type RaysOptions,
} from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { rayBounds } from "../../support/tolerances.ts";
import { rover, ROVER } from "../../support/rover.ts";

const STONES = Array.from({ length: 8 }, (_, i) => {
  const [x, y] = [Math.cos(i) * (0.4 + 0.1 * i), Math.sin(i) * (0.4 + 0.1 * i)];
  const kind = i % 2 ? `type="box" size="0.15 0.2 0.1"` : `type="sphere" size="0.2"`;
  return `<geom ${kind} pos="${x.toFixed(2)} ${y.toFixed(2)} ${(0.03 * i).toFixed(2)}" group="${i % 3}" contype="0" conaffinity="0"/>`;
});
const FIELD = ROVER.replace(`<body name="torso"`, `${STONES.join("")}<body name="torso"`);
const MOST = 1.5;
const GRID = rayGrid({ size: [1.2, 0.8], counts: [7, 5], offset: [0.1, 0, 0.4] });
// more than an array of results holds
const LIDAR = rayFan({ azimuth: [0, 2 * Math.PI, 45], elevation: [-0.6, 0.1, 3], offset: [0.02, 0, 0.1] });
const ALL = [1, 1, 1, 1, 1, 1];

interface Case {
  readonly name: string;
  readonly pattern: readonly PatternRay[];
  readonly options: Omit<RaysOptions, "pattern" | "most">;
  readonly groups?: number[];
  readonly statics?: boolean;
  readonly site?: true;
}

const CASES: readonly Case[] = [
  { name: "heights under a grid that keeps its heading", pattern: GRID, options: { axes: "heading", gives: "height" } },
  { name: "a lidar that turns with its body", pattern: LIDAR, options: {} },
  { name: "points along world axes", pattern: GRID, options: { axes: "world", gives: "point" } },
  {
    name: "normals in two groups, from a site",
    pattern: GRID,
    options: { gives: "normal", groups: [0, 2] },
    groups: [1, 0, 1, 0, 0, 0],
    site: true,
  },
  {
    name: "what moves, the body itself too",
    pattern: GRID,
    options: { statics: false, exclude: null },
    statics: false,
  },
];

type Matrix = readonly number[];
const product = (m: Matrix, v: readonly number[]) =>
  [0, 1, 2].map((k) => m[3 * k] * v[0] + m[3 * k + 1] * v[1] + m[3 * k + 2] * v[2]);

function heading(m: Matrix): Matrix {
  const size = Math.hypot(m[0], m[3]);
  const [c, s] = [m[0] / size, m[3] / size];
  return [c, -s, 0, s, c, 0, 0, 0, 1];
}

/** What MuJoCo's rays find at qpos. */
async function expected({ pattern, options, groups = ALL, statics = true, site }: Case, qpos: number[]) {
  return withMuJoCo(await loadModel(FIELD), ({ mujoco, model, data, read, write }) => {
    write("qpos", qpos);
    mujoco.mj_forward(model, data);
    const [pos, mat] = site ? ["site_xpos", "site_xmat"] : ["xpos", "xmat"];
    const at = site ? 0 : 1;
    const origin = Array.from(read(pos)).slice(3 * at, 3 * at + 3);
    const own = Array.from(read(mat)).slice(9 * at, 9 * at + 9);
    const axes = { body: own, heading: heading(own), world: [1, 0, 0, 0, 1, 0, 0, 0, 1] }[options.axes ?? "body"];
    const normal = new mujoco.DoubleBuffer(3);
    const geom = new mujoco.IntBuffer(1);
    const exclude = options.exclude === null ? -1 : 1;
    return pattern.flatMap((ray) => {
      const from = product(axes, ray.origin).map((x, k) => x + origin[k]);
      const size = Math.hypot(...ray.direction);
      const toward = product(axes, ray.direction).map((x) => x / size);
      const dist = mujoco.mj_ray(model, data, from, toward, groups, statics, exclude, geom, normal);
      const meets = dist >= 0 && dist < MOST;
      const reach = meets ? dist : MOST;
      const end = from.map((x, k) => x + reach * toward[k]);
      const told = {
        distance: [reach],
        height: [end[2] - origin[2]],
        point: end,
        normal: meets ? Array.from(normal.GetView() as Float64Array) : [0, 0, 0],
      };
      return told[options.gives ?? "distance"];
    });
  });
}

const task = (c: Case) =>
  rover({
    model: FIELD,
    observe: {
      qpos: "qpos",
      scan: rays(c.site ? { site: "imu" } : "torso", { pattern: c.pattern, most: MOST, ...c.options }),
    },
    reset: startAround({ qpos: 0.2 }),
  });

describe("what rays tell", () => {
  for (const c of CASES) {
    test.each([
      ["cpu-f64", true],
      ["cpu", false],
      ["wasm", true],
    ] as const)(`${c.name}: %s, straight-line %s`, async (device, unroll) => {
      await using env = await makeVec(task(c), { numEnvs: 2, seed: 3, device, unroll });
      const { observations } = await env.reset({ seed: 3 });
      const width = observations.length / 2;
      const nq = 9;
      for (const world of [0, 1]) {
        const seen = Array.from(observations.subarray(world * width, (world + 1) * width));
        const wanted = await expected(c, seen.slice(0, nq));
        expect(seen.length - nq).toBe(wanted.length);
        const off = seen.slice(nq).map((x, i) => Math.abs(x - wanted[i]));
        // an edge that rounding moves across a ray
        const beside = off.filter((e) => !(e <= rayBounds.single.value));
        expect(beside.length, JSON.stringify(off)).toBeLessThanOrEqual(0.03 * off.length);
      }
    });
  }

  test("on a device, in a step and after a reset, as on the CPU", async () => {
    const run = async (options: object) => {
      await using env = await makeVec(task(CASES[1]), { numEnvs: 3, seed: 3, ...options });
      const { observations: first } = await env.reset({ seed: 3 });
      const { observations } = await env.step(new Float32Array(env.actionSpace.size));
      return [...first, ...observations];
    };
    const [ours, theirs] = [await run({}), await run({ device: "cpu" })];
    const off = ours.filter((x, i) => !(Math.abs(x - theirs[i]) <= rayBounds.single.value));
    expect(off.length).toBeLessThanOrEqual(0.03 * ours.length);
  });
});

describe("patterns", () => {
  test("a grid goes row by row along x", () => {
    const [a, b, c] = rayGrid({ size: [2, 1], counts: [2, 2], offset: [0, 0, 5] });
    expect([a, b, c].map((r) => r.origin)).toEqual([
      [-1, -0.5, 5],
      [1, -0.5, 5],
      [-1, 0.5, 5],
    ]);
    expect(a.direction).toEqual([0, 0, -1]);
  });

  test("a fan of a whole turn has no direction twice", () => {
    const fan = rayFan({ azimuth: [0, 2 * Math.PI, 4] });
    expect(fan.map((r) => r.direction.map((x) => Math.round(x)))).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [-1, 0, 0],
      [-0, -1, 0],
    ]);
  });
});

describe("what rays refuse", () => {
  const refusals: readonly [string, Partial<RaysOptions>, string][] = [
    ["no pattern", { pattern: [] }, "pattern of rays is []"],
    ["a direction of zero", { pattern: [{ origin: [0, 0, 0], direction: [0, 0, 0] }] }, "not zero"],
    ["no length", { most: 0 }, "most of rays is 0"],
    ["a group that is none", { groups: [6] }, "groups of rays is [6]"],
    ["other axes", { axes: "yaw" as never }, `axes of rays is "yaw"`],
    ["a misspelt option", { mots: 3 } as never, `"mots"`],
    ["a body that is none", { exclude: "trunk" }, `"trunk"`],
  ];
  test.each(refusals)("%s", async (_, options, text) => {
    const scan = rays("torso", { pattern: GRID, most: 2, ...options });
    const made = makeVec(rover({ observe: { scan } }), { numEnvs: 1, device: "cpu" });
    const error = await made.then(
      () => undefined,
      (e: CorralError) => e,
    );
    expect(error?.message).toContain(text);
    expect(error?.message).toContain("observe");
  });
});
