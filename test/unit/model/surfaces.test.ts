// triangles and elevations that a model carries for rays
import { describe, expect, test } from "vitest";
import { Mismatch } from "../../../src/core/schema.ts";
import { modelKind } from "../../../src/model/model-format.ts";
import { loadModel } from "../../../src/model/model.ts";
import type { Surfaces } from "../../../src/model/surfaces.ts";
import { treesOf } from "../../../src/physics/ray/tree.ts";
import { createRandom } from "../../support/mjcf-random.ts";
import { boxPoints } from "../../support/hulls.ts";

const BOTH = `<mujoco><asset><mesh name="unused" vertex="${boxPoints(1, 1, 1)}"/><mesh name="box" vertex="${boxPoints(0.1, 0.2, 0.3)}"/>
  <hfield name="h" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 1 2 3 4 4"/></asset>
  <worldbody><geom type="hfield" hfield="h"/><body><freejoint/><geom type="mesh" mesh="box"/></body></worldbody></mujoco>`;

describe("surfaces", () => {
  test("are triangles of meshes that geoms show, and elevations from 0 to 1", async () => {
    const { surfaces } = await loadModel(BOTH, { visuals: true });
    expect([...surfaces!.facenum]).toEqual([0, 12]);
    expect(surfaces!.corners.length).toBe(9 * 12);
    const sizes = [0, 1, 2].map((k) => Math.max(...surfaces!.corners.filter((_, i) => i % 3 === k)));
    expect(sizes.toSorted((a, b) => a - b).map((x) => x.toFixed(4))).toEqual(["0.1000", "0.2000", "0.3000"]);
    expect([...surfaces!.nrow, ...surfaces!.ncol, ...surfaces!.fieldsize]).toEqual([2, 3, 1, 2, 0.5, 0.1]);
    // an XML has the rows from the top of the picture
    expect([...surfaces!.elevations]).toEqual([0.75, 1, 1, 0, 0.25, 0.5]);
  });

  test("are none of a model of formulas", async () => {
    expect((await loadModel("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")).surfaces).toBeUndefined();
  });

  test("out of a file, numbers that lead outside are refused", async () => {
    const { source: _, ...model } = await loadModel(BOTH, { visuals: true });
    const read = (changes: Partial<Surfaces>) =>
      modelKind.read({ ...model, surfaces: { ...model.surfaces, ...changes } }, []);
    expect(read({}).surfaces).toEqual(model.surfaces);
    const cases: Partial<Surfaces>[] = [
      { facenum: Int32Array.of(0, 13) },
      { faceadr: Int32Array.of(0, -1) },
      { facenum: Int32Array.of(12) },
      { nrow: Int32Array.of(3) },
      { ncol: Int32Array.of(1) },
      { fieldadr: Int32Array.of(1) },
      { fieldsize: Float64Array.of(1, 1, 1) },
      { nrow: new Int32Array(), ncol: new Int32Array(), fieldadr: new Int32Array(), fieldsize: new Float64Array() },
    ];
    for (const changes of cases) expect(() => read(changes), JSON.stringify(changes)).toThrow(Mismatch);
  });
});

test("a tree has every triangle once, within its box and those around it", () => {
  const r = createRandom(3);
  const corners = Float32Array.from({ length: 9 * 137 }, () => r.between(-1, 1));
  const none = new Int32Array();
  const trees = treesOf({
    faceadr: Int32Array.of(0, 100),
    facenum: Int32Array.of(100, 37),
    corners,
    nrow: none,
    ncol: none,
    fieldadr: none,
    fieldsize: new Float64Array(),
    elevations: new Float32Array(),
  });
  expect(trees.corners.toSorted((a, b) => a - b)).toEqual([...corners].toSorted((a, b) => a - b));
  for (const mesh of [0, 1]) {
    const within = (node: number, triangle: number) =>
      trees.corners
        .slice(9 * triangle, 9 * triangle + 9)
        .every((x, k) => x >= trees.box[6 * node + (k % 3)] && x <= trees.box[6 * node + 3 + (k % 3)]);
    let own = 0;
    for (let node = trees.root[mesh]; node < trees.end[mesh]; node++) {
      own += trees.count[node];
      expect(trees.skip[node]).toBeGreaterThan(node);
      expect(trees.skip[node]).toBeLessThanOrEqual(trees.end[mesh]);
      for (let inner = node; inner < trees.skip[node]; inner++) {
        const triangles = Array.from({ length: trees.count[inner] }, (_, i) => trees.first[inner] + i);
        expect(triangles.every((t) => within(node, t))).toBe(true);
      }
    }
    expect(own).toBe([100, 37][mesh]);
  }
});

test("points of tactile sensors that are not there are refused in a compiled model", async () => {
  const xml = `<mujoco><asset><mesh name="m" builtin="sphere" params="0"/></asset><worldbody><geom name="g" size="1"/></worldbody>
    <sensor><tactile geom="g" mesh="m"/></sensor></mujoco>`;
  const { source: _, ...model } = await loadModel(xml);
  const { taxels } = modelKind.read(model, []);
  const read = (changes: object) => () => modelKind.read({ ...model, taxels: { ...taxels!, ...changes } }, []);
  expect(read({ adr: new Int32Array(2) })).toThrow(Mismatch);
  expect(read({ pos: taxels!.pos.slice(3), tangents: taxels!.tangents.slice(6) })).toThrow(Mismatch);
  expect(read({ tangents: taxels!.tangents.slice(3) })).toThrow(Mismatch);
});
