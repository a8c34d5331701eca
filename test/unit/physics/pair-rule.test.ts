// which pair a row and a column of a grid make: by a rule of their bodies, or by a table where pairs do not follow it
import { expect, test } from "vitest";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { geomPairs } from "../../../src/model/pairs.ts";
import { gridsOf, type Grid } from "../../../src/physics/collision/pair-grids.ts";
import { readRule, ruleOf } from "../../../src/physics/collision/pair-rule.ts";
import { table } from "../../../src/trace/control.ts";
import { toF32, toI32 } from "../../../src/trace/scalar.ts";
import { asWasm, program, runJs } from "../../support/trace-runner.ts";

/** Chains of bodies of one to three geoms, no parent touching its child, over a plane. */
function scene(ground = "", rest = "", geom: (i: number) => string = () => "sphere"): Promise<Model> {
  const geoms = (body: number) =>
    Array.from({ length: 1 + (body % 3) }, (_, i) => `<geom type="${geom(i)}" size=".01 .01"/>`).join("");
  const chain = (i: number) =>
    `<body name="b${i}" pos="0 0 ${i}"><freejoint/>${geoms(i)}<body><joint/>${geoms(i + 1)}<body><joint/>${geoms(i + 2)}</body></body></body>`;
  const chains = Array.from({ length: 9 }, (_, i) => chain(i)).join("");
  return loadModel(
    `<mujoco><worldbody><geom type="plane" size="1 1 1"/>${ground}${chains}</worldbody>${rest}</mujoco>`,
  );
}

const gridsIn = (model: Model): Grid[] =>
  gridsOf(model.ngeom, geomPairs(model), { fixed: [], clusters: [], group: 16 }).map(({ grid }) => grid);

test.each(["javascript", "wasm"])("the pair of every row and column is that of the list: %s", async (way) => {
  const model = await scene();
  const grids = gridsIn(model);
  expect(grids).toHaveLength(2);
  for (const grid of grids) {
    const rule = ruleOf(grid, model.geom_bodyid)!;
    const cells: [row: number, column: number][] = [];
    const expected: number[] = [];
    const width = 32 * rule.words;
    grid.each((cell, pair) => {
      cells.push([Math.floor(cell / width), cell % width]);
      expected.push(pair);
    });
    const made = program(2, 1, ([row, column]) => [
      toF32(readRule(rule, table("mask", grid.masks, "i32"))(toI32(row), toI32(column))),
    ]);
    const found = runJs(made, "f32", cells, {}, way === "wasm" ? asWasm([]) : undefined);
    expect(found.map(([pair]) => pair)).toEqual(expected);
  }
});

test("pairs that do not follow it have none", async () => {
  const hasRule = (model: Model) => gridsIn(model).every((grid) => ruleOf(grid, model.geom_bodyid) !== undefined);
  expect(hasRule(await scene("", `<contact><exclude body1="b2" body2="b5"/></contact>`))).toBe(true);
  // a plane and a box of one body lie in two grids
  expect(hasRule(await scene(`<geom type="box" size="1 1 1"/>`))).toBe(false);
  // MuJoCo sorts pairs of two bodies by the lower type first
  expect(hasRule(await scene("", "", (i) => (i === 1 ? "sphere" : "capsule")))).toBe(false);
});
