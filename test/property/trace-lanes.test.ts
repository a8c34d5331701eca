// worlds side by side take each other's items: each has what it has alone, whoever is beside it
import fc from "fast-check";
import { expect, test } from "vitest";
import { itemsInTurn, itemsOfLanes, lanesLeft } from "../../src/physics/collision/convex/pooled.ts";
import { array, breakIf, loop, variable, when } from "../../src/trace/control.ts";
import { lane, lanes, ofEachLane, ofLane, total } from "../../src/trace/lanes.ts";
import * as t from "../../src/trace/scalar.ts";
import { program, runJs, runWasm } from "../support/trace-runner.ts";

const widths = test.each([{ wide: false }, { wide: true }]);

widths("a lane reads and writes what another has: %o", ({ wide }) => {
  const p = program(
    1,
    4,
    ([x]) => {
      const [own, next] = [array("own", 2), array("next", 3)];
      own.set(1, x);
      const before = t.select(t.eq(lane(), 0), t.sub(lanes(), 1), t.sub(lane(), 1), "i32");
      next.set(ofLane(2, before), own.get(ofLane(1, before)));
      const beside = array("beside", 1, "i32");
      beside.set(0, t.toI32(x));
      return [t.toF32(lane()), own.get(ofLane(1, before)), next.get(2), t.toF32(total(ofEachLane(beside)))];
    },
    { wide },
  );
  const rows = [3, 5, 7, 11].map((x) => [x]);
  // worlds run in an order of their own: here the last comes first
  const pairs = [
    [1, 5, 3, 8],
    [0, 3, 5, 8],
    [1, 11, 7, 18],
    [0, 7, 11, 18],
  ];
  const fours = [
    [3, 5, 3, 26],
    [2, 7, 5, 26],
    [1, 11, 7, 26],
    [0, 3, 11, 26],
  ];
  expect(runWasm(p, rows)).toEqual(wide ? pairs : fours);
  // elsewhere each is alone
  expect(runJs(p, "f32", rows)).toEqual(rows.map(([x]) => [0, x, x, x]));
});

widths("an index of no element touches nobody's memory: %o", ({ wide }) => {
  const p = program(
    2,
    2,
    ([x, of]) => {
      const [list, beyond] = [array("list", 3), array("beyond", 3)];
      list.set(ofLane(t.toI32(x), t.toI32(of)), 7);
      return [0, 1, 2].map((i) => t.add(list.get(i), beyond.get(i))).slice(0, 2);
    },
    { wide },
  );
  const rows = [
    [-1, 0],
    [3, 1],
    [2e9, 0],
    [-2e9, 1],
  ];
  expect(runWasm(p, rows)).toEqual(rows.map(() => [0, 0]));
});

/** Items of two lists, each worked on for as many turns as it says; worlds below 0 take no part. */
function traced([n, k]: t.Scalar[]): t.Scalar[] {
  const ROOM = 8;
  const [work, done, late] = ["work", "done", "late"].map((name) => array(name, 2 * ROOM));
  const [sum, rounds] = [variable("sum", 0), variable("rounds", 0)];
  const left = lanesLeft("left");
  const items = itemsOfLanes("items");
  loop(3, (round) =>
    when(t.ge(t.add(n, t.toF32(round)), 0), () => {
      const count = t.toI32(t.min(t.abs(n), ROOM));
      loop(count, (i) => work.set(i, t.add(t.mul(k, t.toF32(i)), t.toF32(round))));
      const [busy, at, of, turns] = ["busy", "at", "of", "turns"].map((name) => variable(name, 0, "i32"));
      const worked = variable("worked", 0);
      busy.set(0);
      items.begin([count]);
      loop(1000, () => {
        when(t.eq(busy.get(), 0), () => {
          const item = items.next();
          when(
            item.exists,
            () => {
              at.set(item.at);
              of.set(item.of);
              busy.set(1);
              turns.set(t.add(t.toI32(work.get(ofLane(item.at, item.of))), 1));
              worked.set(0);
            },
            () => busy.set(-1),
          );
        });
        breakIf(t.eq(busy.get(), -1));
        worked.set(t.add(worked.get(), t.toF32(turns.get())));
        turns.set(t.sub(turns.get(), 1));
        when(t.le(turns.get(), 0), () => {
          done.set(ofLane(at.get(), of.get()), worked.get());
          busy.set(0);
          items.ask();
        });
      });
      items.end();
      const own = [count, t.toI32(k)];
      itemsInTurn("in_turn", own, 2 * ROOM, ({ at: i, of: from, list }) =>
        late.set(ofLane(t.add(i, t.mul(list, ROOM)), from), t.add(done.get(ofLane(i, from)), t.toF32(list))),
      );
      loop(count, (i) => sum.set(t.add(sum.get(), t.mul(done.get(i), t.toF32(t.add(i, 1))))));
      loop(t.toI32(k), (i) => sum.set(t.add(sum.get(), late.get(t.add(i, ROOM)))));
      // as long as any world has some, all go on
      const rest = variable("rest", count, "i32");
      loop(ROOM + 1, () => {
        breakIf(left.isOver(rest.get()));
        rounds.set(t.add(rounds.get(), t.select(t.gt(rest.get(), 0), 1, 0)));
        rest.set(t.max(t.sub(rest.get(), 1), 0));
      });
    }),
  );
  return [sum.get(), rounds.get()];
}

widths("what items give does not depend on who takes them: %o", ({ wide }) => {
  const p = program(2, 2, traced, { wide });
  const row = fc.tuple(fc.integer({ min: -4, max: 9 }), fc.integer({ min: 0, max: 7 })).map(([n, k]) => [n, k]);
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 13 }), (rows) => {
      const alone = rows.map((one) => runWasm(p, [one])[0]);
      expect(runJs(p, "f32", rows)).toEqual(alone);
      expect(runWasm(p, rows)).toEqual(alone);
    }),
    { numRuns: process.env.CORRAL_FULL ? 1000 : 60 },
  );
});

widths("worlds that are alike each take their own items: %o", ({ wide }) => {
  const p = program(
    1,
    2,
    ([n]) => {
      const [places, others] = [variable("places", 0), variable("others", 0)];
      itemsInTurn("alike", [t.toI32(n)], 8, ({ at, of }) => {
        places.set(t.add(t.mul(10, places.get()), t.toF32(t.add(at, 1))));
        others.set(t.add(others.get(), t.select(t.eq(of, lane()), 0, 1)));
      });
      return [places.get(), others.get()];
    },
    { wide },
  );
  expect(runWasm(p, [[3], [3], [3], [3]])).toEqual([3, 3, 3, 3].map(() => [123, 0]));
});
