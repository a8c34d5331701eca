// the arenas of a batch and how a kernel reads and writes one world's record in them
import { load4, store4, world, type Four } from "../trace/control.ts";
import { add, div, mul, sub, type Int, type Scalar } from "../trace/scalar.ts";
import { fieldSize, type StateFieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import type { ArenaLayout, FieldLayout } from "../memory/layout.ts";
import type { FieldRequest } from "../memory/request.ts";
import type { Field } from "./view.ts";

/** State fields that every batch keeps from step to step. */
const KEPT: readonly StateFieldName[] = ["time", "qpos", "qvel", "act", "qacc_warmstart", "mocap_pos", "mocap_quat"];
/** State fields that are zero unless a batch asks for them. */
export const APPLIED: readonly StateFieldName[] = ["qfrc_applied", "xfrc_applied"];
export type AppliedForce = "qfrc_applied" | "xfrc_applied";

/** The state fields of a batch, those without elements left out. */
export function stateFields(model: Model, applied: boolean): StateFieldName[] {
  return [...KEPT, ...(applied ? APPLIED : [])].filter((name) => fieldSize(model, name) > 0);
}

/** The request of one field, for the plan. */
export function fieldRequest(name: string, group: string, perWorld: number, remedy?: string): FieldRequest {
  return { name, group, type: "f32", perWorld, ...(remedy ? { remedy } : {}) };
}

/** One world's record in an arena, as a kernel sees it. */
export class RecordIO {
  private readonly layout: ArenaLayout;

  constructor(layout: ArenaLayout) {
    this.layout = layout;
  }

  private field(name: string): FieldLayout {
    return this.layout.fields.find((f) => f.name === name)!;
  }

  /** Index, in fours, of quad `quad` of a field of this invocation's world. */
  private index(field: FieldLayout, quad: number): Int {
    const { tileWidth, worldVec4s, sharedBytes } = this.layout;
    const w = world();
    // rows: one field, padded to whole fours
    if (this.layout.layout === "rows") return add(mul(w, field.perWorld / 4), quad + sharedBytes / 16);
    const tile = div(w, tileWidth);
    const lane = sub(w, mul(tile, tileWidth));
    const base = add(mul(tile, worldVec4s * tileWidth), lane);
    return add(base, (field.worldOffset + quad) * tileWidth + sharedBytes / 16);
  }

  has(name: string): boolean {
    return this.layout.fields.some((f) => f.name === name);
  }

  load(name: string, type: "f32" | "u32" = "f32"): Scalar[] {
    const field = this.field(name);
    const out: Scalar[] = [];
    for (let q = 0; q < field.worldVec4s; q++) out.push(...load4(this.layout.name, this.index(field, q), type));
    return out.slice(0, field.perWorld);
  }

  store(name: string, values: readonly Scalar[], type: "f32" | "u32" = "f32"): void {
    const field = this.field(name);
    for (let q = 0; q < field.worldVec4s; q++) {
      const four = [0, 1, 2, 3].map((k) => values[4 * q + k] ?? 0) as unknown as Four;
      store4(this.layout.name, this.index(field, q), four, type);
    }
  }

  loadInto(target: Field): void {
    if (target.length === 0) return;
    this.load(target.name).forEach((x, i) => target.set(i, x));
  }

  storeFrom(source: Field): void {
    if (source.length > 0) this.store(source.name, source.all());
  }
}

/** Initial frames of mocap bodies, from the model. */
export function mocapFrames(model: Model): { mocap_pos?: number[]; mocap_quat?: number[] } {
  if (model.nmocap === 0) return {};
  const pos: number[] = Array(3 * model.nmocap).fill(0);
  const quat: number[] = Array(4 * model.nmocap).fill(0);
  for (let b = 0; b < model.nbody; b++) {
    const id = model.body_mocapid[b];
    if (id < 0) continue;
    for (let k = 0; k < 3; k++) pos[3 * id + k] = model.body_pos[3 * b + k];
    for (let k = 0; k < 4; k++) quat[4 * id + k] = model.body_quat[4 * b + k];
  }
  return { mocap_pos: pos, mocap_quat: quat };
}
