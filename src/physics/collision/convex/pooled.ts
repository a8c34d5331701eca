// items of worlds side by side, of which each lane takes the next whichever world they are of
import { array, breakIf, loop } from "../../../trace/control.ts";
import { lane, MOST_LANES, ofEachLane, ofLane, total } from "../../../trace/lanes.ts";
import {
  add,
  and,
  eq,
  ge,
  gt,
  lt,
  max,
  min,
  mul,
  not,
  select,
  shr,
  sub,
  toI32,
  toU32,
  type Bool,
  type Int,
} from "../../../trace/scalar.ts";

/** An item: its place in its list, the lane of its world, which of the world's lists. */
export interface Item {
  readonly at: Int;
  readonly of: Int;
  readonly list: Int;
}

/** x / n without what is left over, of whole numbers below 32,768. */
const quotient = (x: Int, n: number): Int => toI32(shr(toU32(mul(max(x, 0), Math.ceil(131_072 / n))), 17));

/**
 * The item of a number among all of four lanes that have so many: first ones of all lanes, then second ones, and so on. Like worlds
 * have like items at one place, so that lanes side by side take about as many turns.
 */
function dealt(i: Int, counts: readonly Int[]): { readonly at: Int; readonly of: Int } {
  const [a, b, c, d] = counts;
  // sums of the least counts, of 0 to 3 of them: before a place are as many items as the least of these with it in all other lanes
  const [low, high] = [min, max].map((of) => [of(a, b), of(c, d)]);
  const two = min(add(low[0], low[1]), min(add(a, b), add(c, d)));
  const sums = [0, min(low[0], low[1]), two, sub(total(counts), max(high[0], high[1]))];
  const at = sums.map((s, k) => quotient(sub(i, s), MOST_LANES - k)).reduce(max);
  let rank = counts.reduce((left, n) => sub(left, min(n, at)), i);
  let of: Int = 0;
  counts.forEach((n, w) => {
    const has = gt(n, at);
    of = select(and(has, eq(rank, 0)), w, of, "i32");
    rank = sub(rank, select(has, 1, 0, "i32"));
  });
  return { at, of };
}

/** How many items each lane has, list by list; and which of them all is one. */
function counted(name: string, lists: number) {
  const counts = array(`${name}_counts`, lists, "i32");
  return {
    set: (own: readonly Int[]) => own.forEach((n, i) => counts.set(i, n)),
    item(i: Int): Item & { readonly exists: Bool } {
      let [at, of, list, end]: Int[] = [0, 0, 0, 0];
      for (let k = 0; k < lists; k++) {
        const own = ofEachLane(counts, k);
        const item = dealt(sub(i, end), own);
        const isHere = ge(i, end);
        at = select(isHere, item.at, at, "i32");
        of = select(isHere, item.of, of, "i32");
        list = select(isHere, k, list, "i32");
        end = add(end, total(own));
      }
      return { at, of, list, exists: lt(i, end) };
    },
  };
}

/** Whether no world beside this one has anything left. */
export function lanesLeft(name: string): { isOver(left: Int): Bool } {
  const own = array(name, 1, "i32");
  return {
    isOver(left) {
      own.set(0, left);
      return eq(total(ofEachLane(own)), 0);
    },
  };
}

/** Items that lanes take as they come free. */
export function itemsOfLanes(name: string, lists = 1) {
  const items = counted(name, lists);
  // whether a lane asks for the next item; how many were given, of the first lane alone
  const asks = array(`${name}_asks`, 1, "i32");
  const given = array(`${name}_given`, 1, "i32");
  return {
    /** Begins with so many of each world, by list; all lanes that take part ask. */
    begin(own: readonly Int[]): void {
      items.set(own);
      asks.set(0, 1);
      given.set(ofLane(0, 0), 0);
    },
    ask: () => asks.set(0, 1),
    /** The next item, for the lanes that ask. */
    next() {
      const asking = ofEachLane(asks);
      const mine = lane();
      const before = total(asking.map((n, k) => select(lt(k, mine), n, 0, "i32")));
      const first = given.get(ofLane(0, 0));
      const item = items.item(add(first, before));
      given.set(ofLane(0, 0), add(first, total(asking)));
      asks.set(0, 0);
      return item;
    },
    /** Worlds that take no part later have none. */
    end: () => items.set(Array.from({ length: lists }, () => 0)),
  };
}

/** Runs `body` for all items, at most `most` of a world, as many at a time as there are lanes. */
export function itemsInTurn(name: string, own: readonly Int[], most: number, body: (item: Item) => void): void {
  const items = itemsOfLanes(name, own.length);
  items.begin(own);
  loop(
    MOST_LANES * most + 1,
    () => {
      const { exists, ...item } = items.next();
      breakIf(not(exists));
      body(item);
      items.ask();
    },
    { label: "items" },
  );
  items.end();
}
