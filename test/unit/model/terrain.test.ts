// terrains: the same bytes from a seed, what each kind is made of, how one comes into an MJCF
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { Discrete, makeVec, type Task } from "../../../src/env/index.ts";
import { loadTaskModel } from "../../../src/env/task/load.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { groundBoxes } from "../../../src/model/terrain/boxes.ts";
import { KINDS, type TerrainKind } from "../../../src/model/terrain/kinds.ts";
import { makeTerrain, patchAt, spanOf, type Terrain, type TerrainOptions } from "../../../src/model/terrain/terrain.ts";
import { ROOT } from "../../support/imports.ts";

const ALL = Object.keys(KINDS) as TerrainKind[];
const digest = ({ heights }: Terrain) => createHash("sha256").update(heights).digest("hex").slice(0, 16);

/** Heights (m) of one patch, row by row, its border included. */
function patchOf(t: Terrain, row: number, column: number): number[] {
  const [x, y] = patchAt(t, row, column);
  const half = Math.round(t.patch / t.cell / 2);
  const [c, r] = [Math.round(x / t.cell) + (t.ncol - 1) / 2, Math.round(y / t.cell) + (t.nrow - 1) / 2];
  const lines = Array.from({ length: 2 * half + 1 }, (_, i) => i - half);
  return lines.flatMap((dr) => lines.map((dc) => t.heights[(r + dr) * t.ncol + c + dc] * t.unit));
}

test("the ground of the guide is made of boxes, as it says", () => {
  const guide = readFileSync(join(ROOT, "docs/terrain.md"), "utf8");
  const [, options] = /makeTerrain\((\{[^]*?\n\})\)/.exec(guide)!;
  const ground = makeTerrain(runInThisContext(`(${options})`) as TerrainOptions);
  expect(ground.as).toBe("boxes");
  expect(groundBoxes(ground).length).toBeGreaterThan(ground.rows * 5);
});

const single = (kind: TerrainKind, own: object = {}, options: Partial<TerrainOptions> = {}) =>
  patchOf(makeTerrain({ columns: [{ kind, ...own }], rows: 1, ...options }), 0, 0);

const levels = (heights: readonly number[]) => [...new Set(heights)].sort((a, b) => a - b);
const round = (x: number) => Math.round(x * 1e4) / 1e4;

test("a seed gives the same heights everywhere, another seed others", () => {
  const older = ALL.filter((kind) => kind !== "squares");
  expect(digest(makeTerrain({ seed: 1, rows: 3, columns: older }))).toBe("875c3e8090a1790d");
  expect(digest(makeTerrain({ seed: 2, rows: 3, columns: ALL }))).not.toBe("875c3e8090a1790d");
  // heights are made where they are first read, and never twice
  const lazy = makeTerrain({ columns: ALL });
  expect(Object.getOwnPropertyDescriptor(lazy, "heights")!.value).toBeUndefined();
  expect(lazy.heights).toBe(lazy.heights);
});

test("patches do not depend on those beside them", () => {
  const [few, many] = [
    makeTerrain({ rows: 3, columns: ["rough"] }),
    makeTerrain({ rows: 3, columns: ["rough", "boxes"] }),
  ];
  expect(patchOf(many, 1, 0).slice(0, 80)).toEqual(patchOf(few, 1, 0).slice(0, 80));
});

test.each(ALL)("%s is level in the middle, and meets its neighbours", (kind) => {
  const t = makeTerrain({ seed: 4, columns: [kind], rows: 2 });
  for (const row of [0, 1]) {
    const heights = patchOf(t, row, 0);
    const lines = Math.sqrt(heights.length);
    const at = (x: number, y: number) => heights[(lines - 1) / 2 + y + ((lines - 1) / 2 + x) * lines];
    const [, , height] = patchAt(t, row, 0);
    for (const [x, y] of [
      [7, 7],
      [-7, 7],
      [0, -7],
      [3, 2],
    ])
      expect(round(at(x, y))).toBe(round(height));
    // stairs, pits and trenches end at the border; what is only rough is as high as it is
    const edge = heights.slice(0, lines).map(Math.abs);
    const most =
      { rough: 0.08, squares: 0.15, waves: 0.3, boxes: 0.2, "stepping-stones": 0.5, gaps: 0.5 }[kind as "rough"] ?? 0;
    expect(Math.max(...edge)).toBeLessThanOrEqual(most);
  }
});

describe("each kind is what it says", () => {
  // the middle ends on points of the field, which is where rounding of float64 would put them on either side
  test.each(["stairs-up", "stairs-down", "gaps"] as const)("%s are the same on all sides of their middle", (kind) => {
    const heights = single(kind, {}, { middle: 1.6 });
    expect(heights.toReversed()).toEqual(heights);
    const lines = Math.sqrt(heights.length);
    const across = heights.slice(((lines - 1) / 2) * lines, ((lines + 1) / 2) * lines);
    const level = across.filter((h) => h === across[(lines - 1) / 2]).length - 1;
    if (kind !== "gaps") expect(level * 0.1).toBeCloseTo(1.6, 6);
    // trenches of 0.6 m, five points of 0.1 m wide between walls of one cell
    else expect(across.slice(40 + 16, 40 + 16 + 7).map((h) => h < 0)).toEqual([0, 1, 1, 1, 1, 1, 0].map(Boolean));
  });

  test("flat", () => expect(levels(single("flat"))).toEqual([0]));

  test("stairs have steps of one rise, up and down", () => {
    const [up, down] = [single("stairs-up", { rise: 0.15 }), single("stairs-down", { rise: 0.15 })];
    const rises = levels(up).map((h, i, all) => round(h - (all[i - 1] ?? h - 0.15)));
    expect(new Set(rises)).toEqual(new Set([0.15]));
    // treads of 0.3 m between the middle and the border
    expect(levels(up)).toHaveLength(1 + Math.floor((4 - 0.75) / 0.3));
    expect(Math.min(...up)).toBeCloseTo(-1.5, 6);
    expect(down.map((x) => round(-x) + 0)).toEqual(up.map((x) => round(x) + 0));
  });

  test("slopes rise by their angle", () => {
    expect(Math.min(...single("slope-up", { angle: 0.3 }))).toBeCloseTo(-Math.tan(0.3) * (4 - 0.75), 3);
    expect(Math.max(...single("slope-down", { angle: 0.3 }))).toBeCloseTo(Math.tan(0.3) * (4 - 0.75), 3);
  });

  test("noise is uniform between its ends", () => {
    const rough = single("rough", { height: 0.1, spacing: 0.1 }, { middle: 0 });
    const mean = rough.reduce((n, x) => n + x, 0) / rough.length;
    const spread = Math.sqrt(rough.reduce((n, x) => n + x * x, 0) / rough.length - mean * mean);
    expect(Math.abs(mean)).toBeLessThan(0.01);
    expect(Math.abs(spread - 0.2 / Math.sqrt(12))).toBeLessThan(0.005);
    expect(Math.max(...rough.map(Math.abs))).toBeLessThanOrEqual(0.1);
  });

  test("stones cover what their gaps leave", () => {
    const stones = single("stepping-stones", { size: 0.6, gap: 0.2, height: 0 }, { middle: 0, cell: 0.05 });
    const solid = stones.filter((h) => h === 0).length / stones.length;
    expect(Math.abs(solid - (0.6 / 0.8) ** 2)).toBeLessThan(0.1);
    expect(levels(stones)).toEqual([-0.5, 0]);
  });

  test("trenches are as deep as told", () => expect(levels(single("gaps", { depth: 0.4 }))).toEqual([-0.4, 0]));

  test("waves go from trough to crest", () => {
    const waves = single("waves", { height: 0.2, length: 2 });
    expect(Math.max(...waves) - Math.min(...waves)).toBeCloseTo(0.4, 1);
  });

  test("rows grow harder", () => {
    const t = makeTerrain({ rows: 4, columns: ["stairs-up"] });
    const depth = [0, 1, 2, 3].map((row) => patchAt(t, row, 0)[2]);
    expect(depth).toEqual([...depth].sort((a, b) => b - a));
    expect(depth[0]).toBeCloseTo(-0.3, 6);
    expect(depth[3]).toBeCloseTo(-2, 6);
  });
});

describe("a terrain that cannot be is refused", () => {
  test.each([
    [{ columns: [] }, /list of kinds: flat, rough/],
    [{ columns: ["stair-up"] }, /nearest: stairs-up/],
    [{ columns: [{ kind: "stairs-up", raise: 1 }] }, /no parameter "raise"; nearest: rise/],
    [{ columns: [{ kind: "stairs-up", tread: 0 }] }, /tread is 0; it is a number of at least 0.01/],
    [{ columns: [{ kind: "slope-up", angle: 1.6 }] }, /below 1.5 rad/],
    [{ columns: ["flat"], rows: 0 }, /rows of a terrain is 0/],
    [{ columns: ["flat"], cell: 0.3 }, /patch of a terrain is 8 m, which is no whole number of cells of 0.3 m/],
    [
      { columns: ["flat"], cell: 8 },
      /patch of a terrain is 8 m, its level middle 1.5 m, and cells 8 m; a cell fits on/,
    ],
    [{ columns: ["flat"], patch: "8" }, /patch of a terrain is "8"; it is a number of at least 0/],
    [{ columns: ["flat"], row: 3 }, /no option "row"; nearest: rows/],
    [{ columns: ["flat"], cell: 0.001 }, /too large/],
    [{ columns: [{ kind: "boxes", count: 1e9 }] }, /count is 1000000000; a patch has at most 4096 blocks/],
    [{ columns: ["flat"], as: "mesh" }, /as of a terrain is "mesh"; it is "field" or "boxes"/],
    [{ columns: [{}] }, /column 0 of a terrain is \{\}; it is a kind, or \{ kind, ... \}: flat, rough/],
    [{ columns: ["flat", null] }, /column 1 of a terrain is null/],
  ])("%j", (options, message) => {
    expect(() => makeTerrain(options as never)).toThrow(message);
  });

  test("heights that 32 bits do not hold, when they are drawn", () => {
    const high = makeTerrain({ columns: [{ kind: "waves", height: 1e6 }], rows: 1, cell: 0.5 });
    expect(() => high.heights).toThrow(/\[bad-terrain\] a height of a terrain is -?\d+(\.\d+)? m; .* at most 100000 m/);
  });
});

const SCENE = `<mujoco><!-- <geom name="floor"/> --><default><geom friction="0.7"/></default><worldbody>
  <geom name='floor' type="plane" size="5 5 1" pos="0 0 0.1" condim="4"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size="0.1"/></body></worldbody></mujoco>`;

describe("a terrain in place of a geom", () => {
  test("keeps what the geom said of contacts; the first patch's middle is at the origin", async () => {
    const ground = makeTerrain({ rows: 2, columns: ["stairs-up"] });
    const model = await loadModel(SCENE, { terrain: { ground, geom: "floor" } });
    const [low, high] = spanOf(ground);
    expect(model.ngeom).toBe(2);
    expect([model.geom_condim[0], model.geom_friction[0]]).toEqual([4, 0.7]);
    expect(Array.from(model.surfaces!.fieldsize)).toEqual([12, 8, high - low, 1].map((x) => expect.closeTo(x, 6)));
    const [x, y, height] = patchAt(ground, 0, 0);
    expect(Array.from(model.geom_pos.subarray(0, 3))).toEqual([-x, -y, low - height].map((v) => expect.closeTo(v, 6)));
  });

  test("level ground loads", async () => {
    const model = await loadModel(SCENE, { terrain: { ground: makeTerrain({ columns: ["flat"] }), geom: "floor" } });
    expect(model.surfaces!.elevations.every((x) => x === 0)).toBe(true);
  });

  test("a name that the text has not is refused with the nearest", async () => {
    const ground = makeTerrain({ columns: ["flat"] });
    await expect(loadModel(SCENE, { terrain: { ground, geom: "flor" } })).rejects.toMatchObject({
      code: "unknown-name",
      message: expect.stringContaining("nearest: floor"),
    });
    for (const [terrain, says] of [
      [{ ground }, "[bad-option] terrain.geom is undefined; pass the name of a geom"],
      [{ ground: "flat", geom: "floor" }, '[bad-option] terrain.ground is "flat"; pass what makeTerrain made'],
      [{ geom: "floor" }, "pass { ground, geom }"],
    ] as const)
      await expect(loadModel(SCENE, { terrain: terrain as never })).rejects.toThrow(says);
  });

  test("a geom of a body is refused: the ground would go where the body goes", async () => {
    const ground = makeTerrain({ columns: ["flat"] });
    await expect(loadModel(SCENE, { terrain: { ground, geom: "ball" } })).rejects.toThrow(
      '[bad-terrain] the geom "ball" of the XML text belongs to a body',
    );
    const after = SCENE.replace("</worldbody>", '<body/><body name="a>b"></body><geom name="late"/></worldbody>');
    await loadModel(after, { terrain: { ground, geom: "late" } });
  });
});

test.each([
  [{ demote: "1" }, "[term-shape] task Walk, terrain.demote: it gives one number; it is one condition."],
  [{ promote: "xpos(body.bal).x > 1" }, "[unknown-name] task Walk, terrain.promote, line 1, column 11: the model has"],
])("conditions of a task's terrain are named as they stand in it: %j", async (own, says) => {
  await expect(makeVec(walk(own), { numEnvs: 1, device: "cpu" })).rejects.toThrow(says);
});

test("a draw of the task by a name of the terrain's is refused: worlds would stay where they are", async () => {
  const terrain_x = { field: "body_mass", of: "ball", scale: [1, 2] } as const;
  const refused = "[bad-randomise] task Walk, randomise.terrain_x: the terrain is drawn by this name; give it another.";
  for (const [more, options] of [
    [{ randomise: { terrain_x } }, {}],
    [{}, { randomise: { terrain_x } }],
  ])
    await expect(makeVec({ ...walk({}), ...more }, { numEnvs: 1, device: "cpu", ...options })).rejects.toThrow(refused);
});

function walk(own: object): Task {
  return {
    id: "Walk",
    model: SCENE,
    frameSkip: 1,
    maxEpisodeSteps: 5,
    observe: { x: "qpos[0]" },
    reward: { none: 0 },
    terminated: {},
    actionSpace: () => new Discrete(1),
    control: () => [],
    terrain: { ground: makeTerrain({ columns: ["flat"], rows: 2 }), geom: "floor", ...own },
  };
}

describe("ground of boxes", () => {
  test("every cell is the top of one box", () => {
    const ground = makeTerrain({ columns: ["stairs-up", "boxes", "gaps"], rows: 2, cell: 0.2, border: 1, as: "boxes" });
    const { ncol, nrow, cell, heights, unit } = ground;
    const tops = new Float64Array(ncol * nrow).fill(NaN);
    for (const { pos, half } of groundBoxes(ground)) {
      const [c, r] = [pos[0] - half[0] + (ncol * cell) / 2, pos[1] - half[1] + (nrow * cell) / 2].map((x) =>
        Math.round(x / cell),
      );
      for (let i = 0; i < Math.round((2 * half[1]) / cell); i++)
        for (let j = 0; j < Math.round((2 * half[0]) / cell); j++) {
          expect(tops[(r + i) * ncol + c + j]).toBeNaN();
          tops[(r + i) * ncol + c + j] = pos[2] + half[2];
        }
      expect(pos[2] - half[2]).toBeCloseTo(spanOf(ground)[0] - 1, 9);
    }
    tops.forEach((top, i) => expect(top).toBeCloseTo(heights[i] * unit, 9));
  });

  test("level ground is one box, a step of stairs four", () => {
    const count = (columns: TerrainOptions["columns"]) =>
      groundBoxes(makeTerrain({ columns, rows: 1, cell: 0.05, middle: 2, border: 0, as: "boxes" })).length;
    expect(count(["flat", "flat"])).toBe(1);
    // steps of 0.3 m between the middle and the sides 3 m from it, the last of them level with the border
    expect(count([{ kind: "stairs-up", tread: 0.3 }])).toBe(1 + 4 * 10);
  });

  test("slopes are tilted boxes: four of a pit, strips of a pyramid", () => {
    const slope = (kind: "slope-up" | "slope-down", angle = 0.3) =>
      groundBoxes(makeTerrain({ columns: [{ kind, angle }], rows: 1, border: 0, middle: 1.6, as: "boxes" }));
    expect(slope("slope-up")).toHaveLength(5);
    // eight strips of 0.4 m on each of four sides, and a corner between each two
    expect(slope("slope-down")).toHaveLength(1 + 8 * 8);
    expect(() => slope("slope-up", 0.7)).toThrow(/angle is 0.7; it is below 0.7 rad of boxes/);
  });

  test("slopes without a level middle are solid", async () => {
    const ground = makeTerrain({ columns: ["slope-up", "slope-down"], rows: 1, middle: 0, patch: 2, as: "boxes" });
    const model = await loadModel(SCENE, { terrain: { ground, geom: "floor" } });
    expect(model.ngeom).toBe(1 + groundBoxes(ground).length);
  });

  test("more boxes than a model takes are refused", () => {
    expect(() => groundBoxes(makeTerrain({ columns: ["rough"], as: "boxes" }))).toThrow(
      /more than 4096 boxes by its row \d+ of 160 cells, and at most 4096\. Take larger cells/,
    );
  });

  test.each([
    ['<contact><pair geom1="ball" geom2="floor"/></contact>', /pair 0 names the geom "floor", which is 1[0-9]+ boxes/],
    ['<sensor><distance name="far" geom1="ball" geom2="floor" cutoff="9"/></sensor>', /sensor "far" names the geom/],
  ])("what names the geom is refused: %s", async (part, says) => {
    const ground = makeTerrain({ columns: ["stairs-up"], rows: 3, as: "boxes" });
    const scene = SCENE.replace("</mujoco>", `${part}</mujoco>`);
    await expect(loadModel(scene, { terrain: { ground, geom: "floor" } })).rejects.toMatchObject({
      code: "bad-terrain",
      message: expect.stringMatching(says),
    });
  });

  test("a geom with an end tag is replaced whole", async () => {
    const ground = makeTerrain({ columns: ["gaps"], rows: 1, as: "boxes" });
    const scene = SCENE.replace('condim="4"/>', 'condim="4"></geom >');
    const model = await loadModel(scene, { terrain: { ground, geom: "floor" } });
    expect(model.ngeom).toBe(groundBoxes(ground).length + 1);
    const plugin = SCENE.replace('condim="4"/>', 'condim="4"><plugin instance="x"/></geom>');
    await expect(loadModel(plugin, { terrain: { ground, geom: "floor" } })).rejects.toThrow(
      /bad-terrain.*has elements of its own/,
    );
  });
});

const FLOOR = `<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1" priority="0" solref="0.02 1"/></worldbody></mujoco>`;

test("priority and solref of a terrain are its field's, of a task's too", async () => {
  const ground = makeTerrain({ columns: ["flat"], rows: 1 });
  const contactsOf = ({ geom_priority, geom_solref }: Model) => [geom_priority[0], ...geom_solref.subarray(0, 2)];
  const terrain = { ground, geom: "floor", priority: 1, solref: [0.01, 1] } as const;
  expect(contactsOf(await loadModel(FLOOR, { terrain }))).toEqual([1, 0.01, 1]);
  expect(contactsOf(await loadTaskModel({ model: FLOOR, terrain }))).toEqual([1, 0.01, 1]);
  expect(contactsOf(await loadTaskModel({ model: FLOOR, terrain: { ground, geom: "floor" } }))).toEqual([0, 0.02, 1]);
});

test.each([
  { kind: "squares", size: 1e-6 },
  { kind: "rough", spacing: [0.2, 0.001] },
])("parts that cells cannot show are refused: $kind", (column) => {
  expect(() => makeTerrain({ columns: [column as never] })).toThrow(
    /^\[bad-terrain\] column 0 of a terrain: \w+ is .*; it is a number of at least 0\.01, or two/,
  );
});

test("a seed that is none is refused before anything is drawn", () => {
  for (const seed of [-1, 1.5])
    expect(() => makeTerrain({ seed, columns: ["rough"] })).toThrow(`[bad-seed] seed is ${seed}`);
});

test.each([
  { own: { priority: 0.5 }, says: "priority of a terrain is 0.5" },
  { own: { prioritty: 1 }, says: 'a terrain has no option "prioritty"; nearest: priority' },
  { own: { solref: [0.01] }, says: "solref of a terrain is [0.01]" },
])("$says", async ({ own, says }) => {
  const terrain = { ground: makeTerrain({ columns: ["flat"] }), geom: "floor", ...own } as never;
  await expect(loadModel(FLOOR, { terrain })).rejects.toMatchObject({
    code: "bad-terrain",
    message: expect.stringContaining(says) as string,
  });
});
