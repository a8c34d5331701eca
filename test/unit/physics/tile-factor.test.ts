// the Cholesky factor in tiles against a dense one, over worlds each with tiles of its own
import fc from "fast-check";
import { expect, test } from "vitest";
import { tileList, TILE } from "../../../src/physics/solver/dof-tiles.ts";
import { BitTies } from "../../../src/physics/solver/ties.ts";
import { TileFactor, WordTies } from "../../../src/physics/solver/tile-factor.ts";
import { array, table, variable, when } from "../../../src/trace/control.ts";
import { add, band, gt, mul, ne, toU32, type Int } from "../../../src/trace/scalar.ts";
import { factorBounds } from "../../support/tolerances.ts";
import { program, runJs, runWasm, type TestProgram } from "../../support/trace-runner.ts";

/** A matrix by tiles: which of those below the diagonal it has, and its lower triangle, row by row. */
interface Case {
  readonly tiles: number;
  /** By tile, bits of the tiles before it. */
  readonly there: readonly number[];
  /** Tiles that are asked for. */
  readonly live: readonly boolean[];
  readonly A: readonly (readonly number[])[];
  readonly force: readonly number[];
}

const entry = fc.double({ min: -1, max: 1, noNaN: true });

const caseOf = (tiles: number): fc.Arbitrary<Case> => {
  const n = TILE * tiles;
  const cases = fc.record({
    bits: fc.array(fc.nat(2 ** tiles - 1), { minLength: tiles, maxLength: tiles }),
    live: fc.array(fc.boolean(), { minLength: tiles, maxLength: tiles }),
    G: fc.array(entry, { minLength: n * n, maxLength: n * n }),
    force: fc.array(entry, { minLength: n, maxLength: n }),
  });
  return cases.map(({ bits, live, G, force }) => {
    // few tiles off the diagonal, none with one that is not asked for
    const there = bits.map((b, I) => b & (b >> 1) & ((1 << I) - 1)).map((b, I) => (live[I] ? b : 0));
    const has = (I: number, J: number) => I === J || (live[J] && (there[I] & (1 << J)) !== 0);
    const tile = (i: number) => Math.floor(i / TILE);
    const entries = Array.from({ length: n }, (_, i) =>
      Array.from({ length: i + 1 }, (__, j) => (has(tile(i), tile(j)) ? G[i * n + j] : 0)),
    );
    // more on the diagonal than beside it
    const A = entries.map((row, i) => {
      const beside = entries.flatMap((r, k) => (k === i ? r.slice(0, -1) : k > i ? [r[i]] : []));
      return [...row.slice(0, -1), beside.reduce((sum, x) => sum + Math.abs(x), 0.1 + Math.abs(row[i]))];
    });
    const kept = there.map((b) => live.reduce((sum, is, J) => (is ? sum : sum & ~(1 << J)), b));
    return { tiles, there: kept, live, A, force };
  });
};

/** x = A⁻¹ force by dense elimination; 0 in tiles that are not asked for. */
function solveDensely({ A, force, live }: Case): number[] {
  const n = force.length;
  const M = A.map((row, i) => [...Array.from({ length: n }, (_, j) => (j <= i ? row[j] : A[j][i])), force[i]]);
  for (let k = 0; k < n; k++) {
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const by = M[i][k] / M[k][k];
      for (let j = k; j <= n; j++) M[i][j] -= by * M[k][j];
    }
  }
  return M.map((row, i) => (live[Math.floor(i / TILE)] ? row[n] / row[i] : 0));
}

/** The inputs of a world: words of tiles that are there, tiles that are asked for, the triangle, the force. */
const inputsOf = ({ there, live, A, force }: Case): number[] => [...there, ...live.map(Number), ...A.flat(), ...force];

/** How tiles that are there are kept: as words, or as rows of bits. */
type Kept = "words" | "bits";

function solver(tiles: number, kept: Kept): TestProgram {
  const n = TILE * tiles;
  const inputs = 2 * tiles + (n * (n + 1)) / 2 + n;
  return program(
    inputs,
    n,
    (x) => {
      const put = (name: string, values: typeof x) => {
        const list = array(name, values.length);
        values.forEach((value, i) => list.set(i, value));
        return list;
      };
      const [bits, live] = [x.slice(0, tiles), put("live", x.slice(tiles, 2 * tiles))];
      const A = put("A", x.slice(2 * tiles, inputs - n));
      const force = put("force", x.slice(inputs - n));
      const out = array("out", n);
      const rowStart = table(
        "row_start",
        Array.from({ length: n }, (_, i) => (i * (i + 1)) / 2),
        "i32",
      );
      const at = (I: Int, J: Int, r: number, c: number) =>
        A.get(add(rowStart(add(mul(TILE, I), r)), add(mul(TILE, J), c)));
      const whole = (I: Int, J: Int) =>
        Array.from({ length: TILE * TILE }, (_, k) => [Math.floor(k / TILE), k % TILE] as const).map(([r, c]) => ({
          r,
          c,
          I,
          J,
        }));
      const list = tileList(tiles);
      const ties = kept === "words" ? new WordTies(list) : new BitTies("test", tiles);
      bits.forEach((word, I) => {
        if (ties instanceof WordTies) return ties.there.set(I, toU32(word));
        for (let J = 0; J < I; J++) when(ne(band(toU32(word), toU32(2 ** J)), toU32(0)), () => ties.tie(I, J));
      });
      const factor = new TileFactor(list, ties);
      const each = (tile: Int, body: () => void) => when(gt(live.get(tile), 0), body);
      factor.factor(each, {
        diagonal: (J) => whole(J, J).map(({ r, c }) => (c > r ? undefined : variable("d", at(J, J, r, c)))),
        below: (I, J) => whole(I, J).map(({ r, c }) => variable("t", at(I, J, r, c))),
      });
      factor.solve(
        each,
        (I) => Array.from({ length: TILE }, (_, r) => force.get(add(mul(TILE, I), r))),
        (I, values) => values.forEach((value, r) => out.set(add(mul(TILE, I), r), value)),
      );
      return Array.from({ length: n }, (_, i) => out.get(i));
    },
    { unroll: false },
  );
}

const farthest = (found: readonly number[][], cases: readonly Case[]): number =>
  Math.max(...cases.flatMap((c, w) => solveDensely(c).map((x, i) => Math.abs(x - found[w][i]))));

test.each([
  [1, "words"],
  [2, "words"],
  [5, "words"],
  [5, "bits"],
] as const)("solves with %i tiles, kept as %s, as dense elimination does", (tiles, kept) => {
  const p = solver(tiles, kept);
  fc.assert(
    fc.property(fc.array(caseOf(tiles), { minLength: 1, maxLength: 6 }), (cases) => {
      const worlds = cases.map(inputsOf);
      expect(farthest(runJs(p, "f64", worlds), cases)).toBeLessThanOrEqual(factorBounds.exact.value);
      const single = runWasm(p, worlds);
      expect(farthest(single, cases)).toBeLessThanOrEqual(factorBounds.single.value);
      // a vector of worlds, each with tiles of its own, has the bits of each by itself
      expect(single).toEqual(runJs(p, "f32", worlds));
    }),
    { numRuns: 60 },
  );
});

// light links beside a weld: a pivot as small as its own rounding makes a column of rounding, and the factor grows to infinity
test("of a matrix whose pivots are mostly rounding a direction comes that is finite and descends", () => {
  const tiles = 12;
  const n = TILE * tiles;
  const p = solver(tiles, "words");
  const unit = fc.array(entry, { minLength: n, maxLength: n });
  fc.assert(
    fc.property(fc.array(unit, { minLength: 4, maxLength: 6 }), unit, (rows, force) => {
      fc.pre(rows[0].some((x) => Math.abs(x) > 1e-3) && force.some((x) => Math.abs(x) > 1e-3));
      const A = Array.from({ length: n }, (_, i) =>
        Array.from({ length: i + 1 }, (__, j) => rows.reduce((sum, row) => sum + row[i] * row[j], i === j ? 1e-9 : 0)),
      );
      const there = Array.from({ length: tiles }, (_, I) => 2 ** I - 1);
      const live = there.map(() => true);
      const [x] = runWasm(p, [inputsOf({ tiles, there, live, A, force })]);
      expect(x.every(Number.isFinite)).toBe(true);
      expect(x.reduce((sum, v, i) => sum + v * Math.fround(force[i]), 0)).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
});
