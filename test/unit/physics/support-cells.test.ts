// vertices by cell of directions: the farthest one of every direction is in its cell's list, to the last bit of float32
import fc from "fast-check";
import { expect, test } from "vitest";
import { cellLists, cellOf, LIST, partOf } from "../../../src/physics/collision/convex/support-cells.ts";
import { toF32 } from "../../../src/trace/scalar.ts";
import { program, runWasm } from "../../support/trace-runner.ts";

type Point = readonly [number, number, number];

const places = program(4, 2, ([x, y, z, edge]) => {
  const cell = cellOf([x, y, z], edge);
  return [toF32(cell.index), toF32(partOf(cell))];
});

const round = (x: number): Point => [x, 0.7 * x, 0.4 * x].map(Math.fround) as unknown as Point;
const ball = (count: number): Point[] =>
  Array.from({ length: count }, (_, i) => {
    const [z, angle] = [1 - (2 * i + 1) / count, i * 2.399963];
    const r = Math.sqrt(1 - z * z);
    return [r * Math.cos(angle), 0.6 * r * Math.sin(angle), 0.3 * z].map(Math.fround) as unknown as Point;
  });
/** A can, all of whose vertices are level with others. */
const can = (sides: number): Point[] =>
  Array.from({ length: 2 * sides }, (_, i) => {
    const angle = (2 * Math.PI * i) / sides;
    return [Math.cos(angle), Math.sin(angle), i < sides ? 0.2 : -0.2].map(Math.fround) as unknown as Point;
  });

const HULLS = [
  ball(60),
  can(200),
  [-1, 1].flatMap((x) => [round(x), [-x, 0.7 * x, 0.4 * x] as Point]),
  ball(900),
  can(6),
];
const vertnum = HULLS.map((hull) => hull.length);
const vertadr = vertnum.map((_, h) => vertnum.slice(0, h).reduce((a, b) => a + b, 0));
const lists = cellLists({ vert: HULLS.flat(2), vertadr, vertnum });

const height = (p: Point, d: Point): number =>
  Math.fround(Math.fround(Math.fround(p[0] * d[0]) + Math.fround(p[1] * d[1])) + Math.fround(p[2] * d[2]));

const component = fc.double({ min: -1, max: 1, noNaN: true });
/** Anywhere, and next to where faces and cells meet: along one axis, or two. */
const direction = fc
  .tuple(component, component, component, fc.integer({ min: 0, max: 8 }), fc.integer({ min: -9, max: 0 }))
  .map(([x, y, z, kind, e]): Point => {
    const near = [x, y, z].map((c) => c * 10 ** e);
    if (kind < 3) near[kind] += Math.sign(x) || 1;
    else if (kind < 6) for (const axis of [0, 1, 2]) near[axis] += axis === kind - 3 ? 0 : Math.sign(y) || 1;
    return near.map(Math.fround) as unknown as Point;
  })
  .filter((d) => Math.hypot(...d) > 1e-12);

test("the farthest vertex is the one of the list, of equals the first", () => {
  let [listed, unlisted] = [0, 0];
  fc.assert(
    fc.property(fc.array(direction, { minLength: 64, maxLength: 64 }), (directions) => {
      HULLS.forEach((hull, h) => {
        const rows = directions.map((d) => [...d, lists.edge[h]]);
        runWasm(places, rows).forEach(([cell, part], i) => {
          let list = lists.list[lists.firstCell[h] + cell];
          if (list % LIST === 0) list = lists.list[Math.floor(list / LIST) + part];
          const vertices = lists.vertex.slice(Math.floor(list / LIST), Math.floor(list / LIST) + (list % LIST));
          // many are level: a climb looks for one of them
          if (vertices.length === 0) return void unlisted++;
          listed++;
          const first = (of: readonly number[]) =>
            of.reduce((best, v) => (height(hull[v], directions[i]) > height(hull[best], directions[i]) ? v : best));
          expect(first(vertices.map((v) => v - vertadr[h]))).toBe(first(hull.map((_, v) => v)));
        });
      });
    }),
    { numRuns: 40 },
  );
  expect(listed).toBeGreaterThan(10 * unlisted);
  expect(unlisted).toBeGreaterThan(0);
});

test("lists are short, and made once for the hulls of a model", () => {
  const hulls = { vert: HULLS.flat(2), vertadr, vertnum };
  expect(cellLists(hulls)).toBe(cellLists(hulls));
  expect(lists.hasLong).toBe(true);
  // eight vertices have one list
  expect(lists.list[lists.firstCell[2]] % LIST).toBe(4);
  expect(lists.vertex.length / lists.list.filter((list) => list % LIST > 0).length).toBeLessThan(10);
});

test("a direction that is not finite has a cell and a part", () => {
  for (const d of [
    [0, 0, 0],
    [NaN, 0, 1],
    [Infinity, 0, 0],
    [1e38, -1e38, 1e38],
  ]) {
    const [[cell, part]] = runWasm(places, [[...d, 5]]);
    expect(cell >= 0 && cell < 125 && part >= 0 && part < 64).toBe(true);
  }
});
