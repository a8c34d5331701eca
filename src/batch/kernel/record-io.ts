// the arenas of a batch and how a kernel reads and writes one world's record in them
import { array, load4, loop, store4, world, type Four, type LocalArray } from "../../trace/control.ts";
import { unrolling } from "../../trace/graph.ts";
import { add, div, mul, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { fieldSize, type FieldName, type StateFieldName } from "../../model/fields.ts";
import { remembersEnergy } from "../../model/energy.ts";
import { initialHistory } from "../../model/history.ts";
import type { Model } from "../../model/model.ts";
import type { ArenaLayout, FieldLayout } from "../../memory/layout.ts";
import type { FieldRequest } from "../../memory/request.ts";
import type { Field } from "../../physics/view.ts";

/** State fields that every batch keeps from step to step. */
const KEPT: readonly StateFieldName[] = [
  "time",
  "qpos",
  "qvel",
  "act",
  "qacc_warmstart",
  "mocap_pos",
  "mocap_quat",
  "eq_active",
  "energy_vel",
  "history",
];
/** State fields that are zero unless a batch asks for them. */
export const APPLIED: readonly StateFieldName[] = ["qfrc_applied", "xfrc_applied"];
export type AppliedForce = "qfrc_applied" | "xfrc_applied";

/** The state fields of a batch, those without elements left out. */
export function stateFields(model: Model, applied: boolean): StateFieldName[] {
  const has = (name: StateFieldName) => (name === "energy_vel" ? remembersEnergy(model) : fieldSize(model, name) > 0);
  return [...KEPT, ...(applied ? APPLIED : [])].filter(has);
}

/** Whether a world has nothing of a field; of contacts and rows the layout of what is derived decides. */
export const isEmpty = (model: Model, name: FieldName, derived: ArenaLayout | undefined): boolean =>
  /^(contact|efc)_/.test(name) ? !derived?.fields.some((f) => f.name === name) : fieldSize(model, name) === 0;

/** The request of one field, for the plan. */
export function fieldRequest(name: string, group: string, perWorld: number, remedy?: string): FieldRequest {
  return { name, group, type: "f32", perWorld, ...(remedy ? { remedy } : {}) };
}

/**
 * Fours of a field from which on a runtime loop moves them, through private arrays. A software driver takes each place
 * that touches a buffer apart by lane, in 80 basic blocks, and compiles in time that grows with blocks times values.
 */
const LOOPED_FOURS = 6;

/** One world's record in an arena, as a kernel sees it. */
export class RecordIO {
  readonly #layout: ArenaLayout;

  constructor(layout: ArenaLayout) {
    this.#layout = layout;
  }

  #field(name: string): FieldLayout {
    return this.#layout.fields.find((f) => f.name === name)!;
  }

  /** Index, in fours, of quad `quad` of a field of this invocation's world. */
  #index(field: FieldLayout, quad: Int): Int {
    const { tileWidth, worldVec4s, sharedBytes } = this.#layout;
    const w = world();
    // rows: one field, padded to whole fours
    if (this.#layout.layout === "rows") return add(mul(w, field.perWorld / 4), add(quad, sharedBytes / 16));
    const tile = div(w, tileWidth);
    const lane = sub(w, mul(tile, tileWidth));
    const base = add(mul(tile, worldVec4s * tileWidth), lane);
    return add(base, add(mul(add(quad, field.worldOffset), tileWidth), sharedBytes / 16));
  }

  has(name: string): boolean {
    return this.#layout.fields.some((f) => f.name === name);
  }

  /** Elements from `start` on, a multiple of four. */
  load(name: string, type: "f32" | "u32" = "f32", start = 0): Scalar[] {
    const field = this.#field(name);
    const fours = field.worldVec4s - start / 4;
    const read = (q: Int) => load4(this.#layout.name, this.#index(field, add(q, start / 4)), type);
    const all = Array.from({ length: fours }, (_, q) => q);
    if (fours < LOOPED_FOURS) return all.flatMap(read).slice(0, field.perWorld - start);

    const passed = passage(name, fours, type);
    loop(fours, (q) => read(q).forEach((x, k) => passed[k].set(q, x)), { label: "records" });
    return all.flatMap((q) => passed.map((part) => part.get(q))).slice(0, field.perWorld - start);
  }

  /** Elements from `start` on, a multiple of four. */
  store(name: string, values: readonly Scalar[], type: "f32" | "u32" = "f32", start = 0): void {
    const field = this.#field(name);
    const fours = field.worldVec4s - start / 4;
    const write = (q: Int, four: Four) => store4(this.#layout.name, this.#index(field, add(q, start / 4)), four, type);
    const four = (q: number) => [0, 1, 2, 3].map((k) => values[4 * q + k] ?? 0) as unknown as Four;
    const all = Array.from({ length: fours }, (_, q) => q);
    if (fours < LOOPED_FOURS) {
      for (const q of all) write(q, four(q));
      return;
    }
    const passed = passage(name, fours, type);
    for (const q of all) four(q).forEach((x, k) => passed[k].set(q, x));
    loop(fours, (q) => write(q, passed.map((part) => part.get(q)) as unknown as Four), { label: "records" });
  }

  loadInto(target: Field): void {
    if (target.length === 0) return;
    const start = this.#eachGroup(target, (quads, rows) => {
      const values = quads.flatMap((q) => load4(this.#layout.name, this.#index(this.#field(target.name), q)));
      rows.forEach((row, k) => target.setRow(row, values.slice(k * target.width, (k + 1) * target.width)));
    });
    if (start < target.length) this.load(target.name, "f32", start).forEach((x, i) => target.set(start + i, x));
  }

  storeFrom(source: Field): void {
    if (source.length === 0) return;
    const start = this.#eachGroup(source, (quads, rows) => {
      const values = rows.flatMap((row) => source.slice(row, source.width));
      quads.forEach((q, k) => {
        const four = values.slice(4 * k, 4 * k + 4) as unknown as Four;
        store4(this.#layout.name, this.#index(this.#field(source.name), q), four);
      });
    });
    if (start < source.length) this.store(source.name, source.all().slice(start), "f32", start);
  }

  /**
   * Runs `body` in a runtime loop over as many whole fours as make up whole rows, if kernels are rolled: compiling
   * takes long for each place that touches a buffer. Returns how many elements that covers.
   */
  #eachGroup(f: Field, body: (quads: Int[], rows: Int[]) => void): number {
    if (unrolling()) return 0;
    const group = lcm(f.width, 4);
    const count = Math.floor(f.length / group);
    if (count < 2) return 0;
    const parts = (n: number, k: Int) => Array.from({ length: group / n }, (_, i) => add(mul(k, group / n), i));
    loop(count, (k) => body(parts(4, k), parts(f.width, k)), { label: "records" });
    return count * group;
  }
}

/** Copies the record of world `w` of an arena into fours of another from `row` on, or back. */
export function copyRecord(layout: ArenaLayout, w: Int, record: string, row: Int, back = false): void {
  const { name, tileWidth, worldVec4s, sharedBytes } = layout;
  const isRow = layout.layout === "rows";
  const tile = div(w, tileWidth);
  const lane = sub(w, mul(tile, tileWidth));
  const own = isRow ? mul(w, worldVec4s) : add(mul(tile, worldVec4s * tileWidth), lane);
  const base = add(own, sharedBytes / 16);
  loop(worldVec4s, (q) => {
    copyFour(name, add(base, isRow ? q : mul(q, tileWidth)), record, add(row, q), back);
  });
}

/** Copies four words of an arena into another, or back. */
export function copyFour(arena: string, at: Int, record: string, place: Int, back = false): void {
  if (back) store4(arena, at, load4(record, place, "u32"), "u32");
  else store4(record, place, load4(arena, at, "u32"), "u32");
}

/** Private arrays that fours pass through between registers and a loop, one for each component. */
const passage = (name: string, fours: number, type: "f32" | "u32"): LocalArray[] =>
  [0, 1, 2, 3].map((k) => array(`${name}_${k}`, fours, type));

interface InitialState {
  mocap_pos?: number[];
  mocap_quat?: number[];
  eq_active?: number[];
  history?: number[];
}

/** What of the initial state is neither zero nor qpos0: mocap bodies, active equalities, times of samples. */
export function initialState(model: Model): InitialState {
  const rest: InitialState = {
    ...(model.neq > 0 ? { eq_active: Array.from(model.eq_active0) } : {}),
    ...(model.nhistory > 0 ? { history: initialHistory(model) } : {}),
  };
  if (model.nmocap === 0) return rest;
  const pos: number[] = Array(3 * model.nmocap).fill(0);
  const quat: number[] = Array(4 * model.nmocap).fill(0);
  for (let b = 0; b < model.nbody; b++) {
    const id = model.body_mocapid[b];
    if (id < 0) continue;
    for (let k = 0; k < 3; k++) pos[3 * id + k] = model.body_pos[3 * b + k];
    for (let k = 0; k < 4; k++) quat[4 * id + k] = model.body_quat[4 * b + k];
  }
  return { mocap_pos: pos, mocap_quat: quat, ...rest };
}

const lcm = (a: number, b: number): number => {
  let x = a;
  while (x % b !== 0) x += a;
  return x;
};
