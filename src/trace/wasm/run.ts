// the function of a kernel that runs many worlds, a vector at a time, of which like ones go together
import { Bytes, I32 } from "./bytes.ts";
import { Op32, type Op32Name } from "./opcodes.ts";

/** Worlds that are put in order together: a sort by insertion takes little longer for each of them than for one of few. */
const SORTED = 256;

/** Locals: parameters first. */
const [FROM, TO, LAST, FRAME, POOL, ORDER, EFFORT, END, I, J, WORLD, MINE, OTHER] = Array.from(
  { length: 13 },
  (_, i) => i,
);
const PARAMETERS = 5;

/**
 * run(from, to, last, frame, pool): the function, so many worlds at a time. With the offset of its two lists in the frame, worlds
 * that took as much effort in their last run go together: lanes wait less for each other.
 */
export function runBody(order: number | undefined, atOnce: number): Bytes {
  const out = new Bytes();
  const op = (...names: Op32Name[]) => names.forEach((name) => out.byte(Op32[name]));
  const get = (...locals: number[]) => locals.forEach((local) => out.byte(Op32["local.get"]).unsigned(local));
  const set = (local: number) => out.byte(Op32["local.set"]).unsigned(local);
  const int = (value: number) => out.byte(Op32["i32.const"]).signed(value);
  const open = (name: "block" | "loop" | "if") => out.byte(Op32[name], 0x40);
  const branch = (name: "br" | "br_if", depth: number) => out.byte(Op32[name]).unsigned(depth);
  const load = (offset = 0) => out.byte(Op32["i32.load"]).unsigned(2).unsigned(offset);
  const store = (offset = 0) => out.byte(Op32["i32.store"]).unsigned(2).unsigned(offset);
  /** The address of a word of a list. */
  const at = (list: number, index: number) => {
    get(list, index);
    int(2);
    op("i32.shl", "i32.add");
  };
  const increase = (local: number, by: number) => {
    get(local);
    int(by);
    op("i32.add");
    set(local);
  };

  const vectors = () => {
    open("loop");
    get(FROM, LAST, FRAME, POOL);
    out.byte(Op32.call).unsigned(0);
    increase(FROM, atOnce);
    get(FROM, END);
    op("i32.lt_s");
    branch("br_if", 0);
    op("end");
  };
  if (order === undefined) {
    out
      .unsigned(1)
      .unsigned(WORLD - PARAMETERS)
      .byte(I32);
    get(TO);
    set(END);
    vectors();
    op("end");
    return out;
  }

  /** By insertion: from one step to the next little changes. */
  const sort = () => {
    get(FROM);
    set(I);
    open("block");
    open("loop");
    increase(I, 1);
    get(I, END);
    op("i32.ge_s");
    branch("br_if", 1);
    at(ORDER, I);
    load();
    set(WORLD);
    at(EFFORT, WORLD);
    load();
    set(MINE);
    get(I);
    set(J);
    open("block");
    open("loop");
    get(J, FROM);
    op("i32.le_s");
    branch("br_if", 1);
    at(ORDER, J);
    int(4);
    op("i32.sub");
    load();
    set(OTHER);
    at(EFFORT, OTHER);
    load();
    get(MINE);
    op("i32.le_s");
    branch("br_if", 1);
    at(ORDER, J);
    get(OTHER);
    store();
    increase(J, -1);
    branch("br", 0);
    op("end", "end");
    at(ORDER, J);
    get(WORLD);
    store();
    branch("br", 0);
    op("end", "end");
    // lanes beyond the last world do again what its lane does
    get(TO, LAST);
    op("i32.gt_s");
    open("if");
    for (let k = 4; k < 4 * atOnce; k += 4) {
      at(ORDER, LAST);
      at(ORDER, LAST);
      load();
      store(k);
    }
    op("end");
  };

  out
    .unsigned(1)
    .unsigned(OTHER + 1 - PARAMETERS)
    .byte(I32);
  get(FRAME);
  load(order);
  set(ORDER);
  get(FRAME);
  load(order + 4);
  set(EFFORT);
  open("loop");
  get(TO);
  set(END);
  get(TO, FROM);
  op("i32.sub");
  int(SORTED);
  op("i32.gt_s");
  open("if");
  get(FROM);
  int(SORTED);
  op("i32.add");
  set(END);
  op("end");
  get(ORDER);
  open("if");
  sort();
  op("end");
  vectors();
  get(FROM, TO);
  op("i32.lt_s");
  branch("br_if", 0);
  op("end", "end");
  return out;
}
