// items of worlds side by side, of which each lane takes the next whichever world they are of
import { array, breakIf, loop } from "../../../trace/control.ts";
import { lane, MOST_LANES, ofEachLane, ofLane, total } from "../../../trace/lanes.ts";
import { add, eq, ge, lt, not, select, sub, type Bool, type Int } from "../../../trace/scalar.ts";

/** An item: its place in its list, the lane of its world, which of the world's lists. */
export interface Item {
  readonly at: Int;
  readonly of: Int;
  readonly list: Int;
}

/** How many items each lane has, list by list; and which of them all is one. */
function counted(name: string, lists: number) {
  const counts = array(`${name}_counts`, lists, "i32");
  return {
    set: (own: readonly Int[]) => own.forEach((n, i) => counts.set(i, n)),
    item(i: Int): Item & { readonly exists: Bool } {
      let [at, of, list, end]: Int[] = [0, 0, 0, 0];
      for (let k = 0; k < lists; k++)
        ofEachLane(counts, k).forEach((count, w) => {
          const isHere = ge(i, end);
          at = select(isHere, sub(i, end), at, "i32");
          of = select(isHere, w, of, "i32");
          list = select(isHere, k, list, "i32");
          end = add(end, count);
        });
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
