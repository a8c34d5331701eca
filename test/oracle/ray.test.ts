// rays against MuJoCo's: of each shape (mju_rayGeom), and in scenes (mj_ray)
import { beforeAll, describe, expect, test } from "vitest";
import { openDevice, type GpuDevice } from "../../src/gpu/index.ts";
import { mjtGeom } from "../../src/model/enums.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { getMuJoCo, type MainModule } from "../../src/model/mujoco.ts";
import { withMuJoCo, type Oracle } from "../../src/model/oracle.ts";
import type { RayFilter } from "../../src/model/rays.ts";
import { RayCaster } from "../../src/physics/ray/cast.ts";
import { MISS, rayShape } from "../../src/physics/ray/shapes.ts";
import { lt, select, toF32, type Int, type Scalar } from "../../src/trace/scalar.ts";
import type { Vec3 } from "../../src/trace/vector.ts";
import { unit } from "../support/collider-poses.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";
import { evaluate, outputList, type How, type Stage } from "../support/stages.ts";
import { rayBounds } from "../support/tolerances.ts";
import { program, runJs } from "../support/trace-runner.ts";

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/** Where a ray meets something: distance, -1 for none; the normal there; the geom. */
interface Met {
  readonly dist: number;
  readonly normal: readonly number[];
  readonly geom: number;
}

type Ray = readonly number[];

/** MuJoCo's answer to a ray. */
type Ask = (ray: Ray) => Met;

const distance = (a: readonly number[], b: readonly number[]) => Math.hypot(...a.map((x, k) => x - b[k]));

/** How far an answer is from MuJoCo's: its distance, and where the geom is the same its normal. */
function error(ours: Met, theirs: Met): number {
  if (ours.dist < 0 !== theirs.dist < 0) return Infinity;
  const far = Math.abs(ours.dist - theirs.dist) / (1 + Math.abs(theirs.dist));
  return Math.max(far, distance(ours.normal, theirs.normal));
}

/** The same at rays beside it, where an edge or the rounding of a grazing ray decides. */
function excess(ours: Met, ask: Ask, ray: Ray, nudge: number, r: Random): number {
  const beside = Array.from({ length: 48 }, () => ray.map((x) => x + nudge * r.between(-1, 1)));
  return Math.min(...beside.map((b) => error(ours, ask(b))));
}

/** The share of random rays that may meet an edge, or graze. */
const EDGES = 0.03;

function expectMet(
  ours: readonly Met[],
  rays: readonly Ray[],
  ask: Ask,
  precision: "f32" | "f64",
  label: string,
  share = EDGES,
) {
  const r = createRandom(99);
  const bound = rayBounds[precision === "f64" ? "exact" : "single"].value;
  const nudge = rayBounds[precision === "f64" ? "exactNudge" : "singleNudge"].value;
  let [hits, beside] = [0, 0];
  rays.forEach((ray, i) => {
    const theirs = ask(ray);
    if (theirs.dist >= 0) hits++;
    if (error(ours[i], theirs) <= bound) return;
    beside++;
    const told = `${label}, ray ${ray.join(" ")}: ${JSON.stringify(ours[i])}, MuJoCo ${JSON.stringify(theirs)}`;
    expect(excess(ours[i], ask, ray, nudge, r), told).toBeLessThanOrEqual(bound);
  });
  expect(beside, label).toBeLessThanOrEqual(share * rays.length);
  return hits;
}

/** Points in and around, and directions of lengths from 0.1 to 3: some along axes, some at points within `target`. */
function drawRays(r: Random, count: number, reach: number, target: readonly number[]): Ray[] {
  return Array.from({ length: count }, (_, i) => {
    const length = r.pick([1, 1, 0.1, 3]);
    const free = unit(r, 3).map((x) => x * length);
    const axis = [0, 1, 2].map((k) => (k === i % 3 ? (i % 2 ? length : -length) : 0));
    const origin = [0, 1, 2].map(() => r.between(-reach, reach));
    const aimed = origin.map((x, k) => r.between(-1, 1) * target[k] - x);
    // numbers that float32 holds
    return [...origin, ...[axis, aimed, free, aimed, free][i % 5]].map(Math.fround);
  });
}

const SIZES: Readonly<Record<string, readonly (readonly number[])[]>> = {
  PLANE: [
    [0, 0, 1],
    [0.7, 0, 1],
    [0.5, 0.8, 1],
  ],
  SPHERE: [[0.7, 0, 0]],
  CAPSULE: [
    [0.4, 0.8, 0],
    [0.02, 0.9, 0],
  ],
  ELLIPSOID: [
    [0.3, 0.6, 0.9],
    [0.02, 0.5, 0.7],
  ],
  CYLINDER: [
    [0.6, 0.5, 0],
    [0.7, 0.01, 0],
  ],
  BOX: [
    [0.3, 0.6, 0.9],
    [0.5, 0.01, 0.5],
  ],
};

/** Half-sizes of a box to aim at, if they are not the shape's own. */
const TARGETS: Readonly<Record<string, (size: readonly number[]) => number[]>> = {
  PLANE: () => [0.4, 0.6, 0],
  SPHERE: ([r]) => [r, r, r],
  CAPSULE: ([r, h]) => [r, r, h],
  CYLINDER: ([r, h]) => [r, r, h],
};

describe("a ray meets a shape where mju_rayGeom says, and leaves it along its normal", () => {
  let mujoco: MainModule;
  beforeAll(async () => {
    mujoco = await getMuJoCo();
  });

  for (const [name, sizes] of Object.entries(SIZES)) {
    test(name.toLowerCase(), () => {
      const type = mjtGeom[name as keyof typeof mjtGeom];
      const buffer = new mujoco.DoubleBuffer(3);
      for (const size of sizes) {
        const target = TARGETS[name]?.(size) ?? [...size];
        const rays = drawRays(createRandom(5), 1500, 1.2, target);
        const ask: Ask = (ray) => {
          const dist = mujoco.mju_rayGeom([0, 0, 0], IDENTITY, [...size], ray.slice(0, 3), ray.slice(3), type, buffer);
          return { dist, normal: Array.from(buffer.GetView() as Float64Array), geom: 0 };
        };
        for (const precision of ["f64", "f32"] as const) {
          const body = (x: Scalar[]) => {
            const v3 = (from: number) => x.slice(from, from + 3) as unknown as Vec3;
            const hit = rayShape(type, { p: v3(0), v: v3(3) }, size as never);
            const meets = lt(hit.x, MISS);
            return [hit.x, ...hit.normal].map((y, k) => select(meets, y, k === 0 ? -1 : 0));
          };
          const made = program(6, 4, body, { exact: precision === "f64" });
          const ours = runJs(made, precision, [...rays]).map(([dist, ...normal]): Met => ({ dist, normal, geom: 0 }));
          const hits = expectMet(ours, rays, ask, precision, `${name} ${size.join(" ")} ${precision}`);
          expect(hits).toBeGreaterThan(100);
          expect(rays.length - hits).toBeGreaterThan(100);
        }
      }
      buffer.delete();
    });
  }
});

const RAYS = 40;

interface Seeing {
  readonly filter: RayFilter;
  readonly exclude: number;
}

/** Casts rays that come with the world: from the frames of geoms to distances, geoms and normals. */
function castStage(name: string, { filter, exclude }: Seeing, count: number): Stage {
  return {
    name,
    reads: ["geom_xpos", "geom_xmat"],
    writes: [],
    extra: () => ({ rays: 6 * count }),
    run(m, d, extra) {
      const given = extra("rays");
      const parts = Array.from({ length: 6 }, (_, k) => {
        const list = outputList(`given${k}`, count);
        for (let i = 0; i < count; i++) list.set(i, given[6 * i + k]);
        return list;
      });
      const out = Array.from({ length: 5 }, (_, k) => outputList(`met${k}`, count));
      const read = (k: number, i: Int) => parts[k].get(i);
      new RayCaster(m, d, filter).castAll(
        count,
        (i) => ({
          origin: [read(0, i), read(1, i), read(2, i)],
          direction: [read(3, i), read(4, i), read(5, i)],
          exclude,
        }),
        (i, hit) => [hit.dist, toF32(hit.geom), ...hit.normal].forEach((x, k) => out[k].set(i, x)),
      );
      return { met: Array.from({ length: count }, (_, i) => out.map((o) => o.all()[i])).flat() };
    },
  };
}

/** A scene of all kinds: `count` geoms, some still, some of bodies with several, in groups, some transparent. */
function scene(seed: number, count: number): string {
  const r = createRandom(seed);
  const number = (low: number, high: number) => r.between(low, high).toFixed(3);
  const geom = (type: string, spread: number) =>
    `<geom type="${type}" size="${number(0.05, 0.3)} ${number(0.05, 0.3)} ${number(0.05, 0.3)}" group="${r.whole(0, 5)}" ` +
    `pos="${number(-spread, spread)} ${number(-spread, spread)} ${number(-spread, spread)}" ` +
    `quat="${unit(r, 4).join(" ")}" ${r.chance(0.1) ? `rgba="1 1 1 0"` : ""} ${r.chance(0.1) ? `material="m"` : ""}/>`;
  const kinds = ["sphere", "capsule", "ellipsoid", "cylinder", "box"];
  const bodies = Array.from({ length: count }, (_, i) => {
    const place = [0, 1, 2].map(() => number(-1.2, 1.2)).join(" ");
    const inner = geom(kinds[i % 5], 0.1) + (i % 3 ? "" : geom(r.pick(kinds), 0.3));
    return i % 4 ? `<body pos="${place}"><freejoint/>${inner}</body>` : `<body pos="${place}">${inner}</body>`;
  });
  return (
    `<mujoco><asset><material name="m" rgba="1 1 1 ${r.pick([0, 1])}"/></asset><option><flag contact="disable"/></option>` +
    `<worldbody><geom type="plane" size="0 0 1" pos="0 0 -1.3"/><geom type="plane" size="1 1 1" pos="0 0 1.4" euler="170 5 0"/>` +
    `${bodies.join("")}</worldbody></mujoco>`
  );
}

/** A ring of triangles that is not convex: `n` times `n` corners. */
function ring(n: number): string {
  const turn = (i: number) => (2 * Math.PI * i) / n;
  const corners = Array.from({ length: n * n }, (_, i) => {
    const [a, b] = [turn(i % n), turn(Math.floor(i / n))];
    const wide = 0.4 + 0.15 * Math.cos(b);
    return [wide * Math.cos(a), wide * Math.sin(a), 0.15 * Math.sin(b)].map((x) => x.toFixed(4)).join(" ");
  });
  const faces = Array.from({ length: n * n }, (_, i) => {
    const at = (x: number, y: number) => (((i % n) + x) % n) + n * ((Math.floor(i / n) + y) % n);
    const [a, b, c, d] = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
    return `${a} ${b} ${d}  ${a} ${d} ${c}`;
  });
  return `vertex="${corners.join("  ")}" face="${faces.join("  ")}"`;
}

/** Surfaces that are searched: two meshes, one a box whose sides lie in planes of its tree; two height fields. */
function surfaces(seed: number, many: boolean): string {
  const r = createRandom(seed);
  const elevation = (rows: number, columns: number) =>
    Array.from({ length: rows * columns }, () => r.between(0, 1).toFixed(3)).join(" ");
  const box = [-0.3, 0.3].flatMap((x) => [-0.2, 0.2].flatMap((y) => [-0.1, 0.25].map((z) => `${x} ${y} ${z}`)));
  const place = () => [0, 1, 2].map(() => r.between(-0.8, 0.8).toFixed(3)).join(" ");
  const mesh = (name: string) => `<geom type="mesh" mesh="${name}" pos="${place()}" quat="${unit(r, 4).join(" ")}"/>`;
  const field = (name: string, at: string) => `<geom type="hfield" hfield="${name}" pos="${at}"/>`;
  return (
    `<mujoco><asset><mesh name="ring" ${ring(9)}/><mesh name="box" vertex="${box.join("  ")}"/>` +
    `<hfield name="hills" nrow="7" ncol="9" size="1.2 0.9 0.5 0.2" elevation="${elevation(7, 9)}"/>` +
    `<hfield name="slope" nrow="2" ncol="3" size="0.4 0.5 0.3 0.1" elevation="${elevation(2, 3)}"/></asset>` +
    `<option><flag contact="disable"/></option><worldbody>${field("hills", "0 0 -1")}` +
    (many ? field("slope", "0.2 0.1 0.9") + mesh("box") : "") +
    `<body pos="0 0 0.1"><freejoint/>${mesh("ring")}<geom type="sphere" size="0.1"/></body>` +
    `${many ? `<body><freejoint/>${mesh("box")}</body>` : ""}</worldbody></mujoco>`
  );
}

/** MuJoCo's answer in a scene as it stands. */
function asker({ mujoco, model, data }: Oracle, { filter, exclude }: Seeing): Ask {
  const geom = new mujoco.IntBuffer(1);
  const normal = new mujoco.DoubleBuffer(3);
  const groups = filter.groups?.map(Number) ?? [1, 1, 1, 1, 1, 1];
  return (ray) => {
    const [pnt, vec] = [ray.slice(0, 3), ray.slice(3)];
    const dist = mujoco.mj_ray(model, data, pnt, vec, groups, filter.statics ?? true, exclude, geom, normal);
    return {
      dist,
      geom: (geom.GetView() as Int32Array)[0],
      normal: Array.from(normal.GetView() as Float64Array),
    };
  };
}

const metIn = (values: ArrayLike<number>): Met[] =>
  Array.from({ length: values.length / 5 }, (_, i) => {
    const [dist, geom, ...normal] = Array.from(values).slice(5 * i, 5 * i + 5);
    return { dist, geom, normal };
  });

/** Casts into scenes of one model on several back ends; returns how many rays met something. */
async function compare(
  model: Model,
  seeing: Seeing,
  hows: readonly How[],
  label: string,
  draw = (r: Random): Ray[] => drawRays(r, RAYS, 1.5, [1, 1, 1]),
  share = EDGES,
): Promise<number> {
  const stage = castStage(label, seeing, RAYS);
  return withMuJoCo(model, async (oracle) => {
    const { mujoco, model: mj, data, read, write } = oracle;
    const round = (name: string) => Float64Array.from(Float32Array.from(read(name)));
    const worlds = [1, 2, 3].map((world) => {
      const r = createRandom(100 * world);
      write(
        "qpos",
        Array.from({ length: model.nq }, (_, i) => model.qpos0[i] + r.between(-0.3, 0.3)),
      );
      mujoco.mj_kinematics(mj, data);
      return { geom_xpos: round("geom_xpos"), geom_xmat: round("geom_xmat"), list: draw(r) };
    });
    const given = worlds.map(({ list, ...frames }) => ({ ...frames, rays: list.flat() }));
    const ask = asker(oracle, seeing);
    let hits = 0;
    for (const how of hows) {
      const results = await evaluate(model, stage, given, how);
      const on = typeof how.on === "string" ? how.on : "f32";
      worlds.forEach(({ geom_xpos, geom_xmat, list }, world) => {
        write("geom_xpos", geom_xpos);
        write("geom_xmat", geom_xmat);
        const told = `${label}, world ${world}, ${on} ${how.unroll}`;
        hits += expectMet(metIn(results[world].met), list, ask, on, told, share);
      });
    }
    return hits;
  });
}

describe("the nearest geom of a scene is mj_ray's", () => {
  const CPU: readonly How[] = [
    { on: "f64", unroll: true },
    { on: "f64", unroll: false },
    { on: "f32", unroll: true },
    { on: "f32", unroll: false },
  ];
  const SEEING: readonly [string, Seeing][] = [
    ["all geoms", { filter: {}, exclude: -1 }],
    ["a body excluded", { filter: {}, exclude: 3 }],
    ["some groups", { filter: { groups: [true, false, true, true, false, false] }, exclude: -1 }],
    ["what moves", { filter: { statics: false }, exclude: 2 }],
  ];

  test.each(SEEING)("%s, in line and in loops", async (name, seeing) => {
    for (const count of [6, 34]) {
      const model = await loadModel(scene(count, count));
      expect(await compare(model, seeing, CPU, `${name}, ${count}`)).toBeGreaterThan(count);
    }
  });

  test.each([false, true])("meshes and height fields; several: %s", async (many) => {
    for (const seed of [1, 2, 3]) {
      const model = await loadModel(surfaces(seed, many));
      expect(await compare(model, SEEING[0][1], CPU, `surfaces ${seed}`)).toBeGreaterThan(60);
    }
  });

  test("straight down on corners and edges of a height field, level and tilted by rounding", async () => {
    const field = `<hfield name="h" nrow="5" ncol="6" size="0.7 0.5 0.3 0.1" elevation="${Array.from({ length: 30 }, (_, i) => (i ? (((7 * i) % 11) + 1) / 12 : 0)).join(" ")}"/>`;
    for (const turn of [0, 30]) {
      const model = await loadModel(
        `<mujoco><asset>${field}</asset><worldbody><geom type="hfield" hfield="h" pos="0.1 0.07 -0.3" euler="0 0 ${turn}"/></worldbody></mujoco>`,
      );
      // every corner, and between corners
      const down = (): Ray[] =>
        Array.from({ length: RAYS }, (_, i) => {
          const [x, y] = [0.14 * (i % 8) - 0.42, 0.125 * Math.floor(i / 8) - 0.25];
          const a = (turn * Math.PI) / 180;
          const at = [0.1 + x * Math.cos(a) - y * Math.sin(a), 0.07 + x * Math.sin(a) + y * Math.cos(a), 1];
          return [...at, 0, 0, -1].map(Math.fround);
        });
      expect(await compare(model, SEEING[0][1], CPU, `down ${turn}`, down, 1)).toBeGreaterThan(200);
    }
  });

  test("on a device", async () => {
    const gpu: GpuDevice = await openDevice();
    const model = await loadModel(scene(7, 34));
    expect(await compare(model, SEEING[1][1], [{ on: gpu, unroll: true }], "device")).toBeGreaterThan(30);
    const searched = await loadModel(surfaces(4, true));
    const hows: How[] = [{ on: gpu, unroll: false }];
    expect(await compare(searched, SEEING[0][1], hows, "surfaces on a device")).toBeGreaterThan(30);
  });
});
