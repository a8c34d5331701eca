// how stages see the model (constants or table reads) and the data (registers or indexed arrays)
import { array, param, table, variable, type LocalArray, type Variable } from "../trace/control.ts";
import { current } from "../trace/graph.ts";
import type { TraceNode } from "../trace/nodes.ts";
import { add, ge, isNode, max, min, mul, select, sub, type Int, type Scalar } from "../trace/scalar.ts";
import type { Spatial, SpatialInertia } from "../trace/spatial.ts";
import type { Mat3, Quat, Vec3 } from "../trace/vector.ts";
import { CorralError } from "../core/errors.ts";
import { field as fieldRow, fieldShape, fieldSize, type Capacities, type FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import { hasLongSensors } from "../model/long-sensors.ts";
import { leftOutIds } from "./fixed-ids.ts";
import { formOf, hasLoops, type KernelForm } from "./form.ts";
import { sameFrames } from "./same-frames.ts";
import { assertDeclared } from "./stages.ts";

/** Reads of flat data in rows; `i` counts rows of the accessor's width. */
abstract class RowReader {
  abstract at(index: Int): Scalar;

  /** `count` consecutive elements from a flat index. */
  run(start: Int, count: number): Scalar[] {
    return Array.from({ length: count }, (_, k) => this.at(add(start, k)));
  }
  /** Row `i` of a matrix with rows of `width`. */
  slice(i: Int, width: number): Scalar[] {
    return this.run(mul(i, width), width);
  }
  vec3 = (i: Int) => this.slice(i, 3) as unknown as Vec3;
  quat = (i: Int) => this.slice(i, 4) as unknown as Quat;
  spatial = (i: Int) => this.slice(i, 6) as unknown as Spatial;
  mat3 = (i: Int) => this.slice(i, 9) as unknown as Mat3;
  inertia = (i: Int) => this.slice(i, 10) as unknown as SpatialInertia;
}

/** A field of the model that each world has some elements of its own of. */
export interface OwnValues {
  /** The world's element at a flat index, as it is now; undefined if all worlds share it. */
  at(index: number): Scalar | undefined;
  /** All elements, shared ones too, for indices known only at run time. */
  readonly all: LocalArray | undefined;
  /** The least that an element can be; undefined if nothing tells. */
  readonly least?: (index: number) => number | undefined;
}

/** Fields with such elements, by name. */
export type PerWorld = ReadonlyMap<string, OwnValues>;

/** One array of the model. A constant index gives a number, a runtime index a table read. */
export class Column extends RowReader {
  readonly at: (index: Int) => Scalar;
  /** Whether each world has some elements of its own. */
  readonly isOwn: boolean;
  /** The least that an element is in any world, as far as it is known. */
  readonly least: (index: number) => number;
  /**
   * Copies what each world has of its own to where indices known only at run time can read it from here on, in
   * straight-line kernels too.
   */
  readonly copyOwn: () => void;

  constructor(name: string, data: ArrayLike<number>, type: "f32" | "i32", own?: OwnValues) {
    super();
    this.isOwn = own !== undefined;
    this.least = (index) => own?.least?.(index) ?? data[index];
    const shared = table(name, data, type);
    let all = own?.all;
    this.copyOwn = () => {
      if (!own || own.all) return;
      all ??= array(name, data.length);
      for (let i = 0; i < data.length; i++) all.set(i, own.at(i) ?? data[i]);
    };
    this.at = (index) => {
      if (!own) return shared(index);
      if (!isNode(index)) return own.at(index) ?? shared(index);
      if (all) return all.get(index);
      throw atRunTime(name);
    };
  }
}

const atRunTime = (name: string): CorralError =>
  new CorralError(
    "per-world-index",
    `${name} differs between worlds, and this model's kernel reads it at an index known only at run time. ` +
      `Kernels with loops can (--rolled), or randomise less of it.`,
    { name },
  );

/** Numbers at an index, of which worlds may have their own. */
export function scalarTable(name: string, values: readonly Scalar[]): (index: Int) => Scalar {
  if (values.every((x): x is number => !isNode(x))) return table(name, values);
  if (hasLoops()) {
    const all = array(name, values.length);
    values.forEach((x, i) => all.set(i, x));
    return (index) => (isNode(index) ? all.get(index) : values[index]);
  }
  return (index) => {
    if (isNode(index)) throw atRunTime(name);
    return values[index];
  };
}

/** Rows of a field that are not kept, since they follow from others. */
export interface LeftOut {
  /** How many rows are kept. */
  readonly kept: number;
  /** Where a row is: those that are kept come first. */
  placeOf(row: Int): Int;
  /** A row that is left out, by its place after those that are kept. */
  read(place: Int): readonly Scalar[];
}

/**
 * One field of the data: registers if code is straight-line; private arrays, one for each component of a row, where
 * it is rolled (drivers compile long for a long array, in proportion to the square of its length).
 */
export class Field extends RowReader {
  readonly name: string;
  readonly length: number;
  /** Numbers of a row: 3 for positions, 6 for spatial vectors, 1 for flat fields. */
  readonly width: number;
  #registers: (Variable | undefined)[] = [];
  #components: readonly LocalArray[];
  #leftOut: LeftOut | undefined;

  /**
   * `indexed`: whether rows are read at runtime indices. Default: if code loops over rows. `kept`: how many rows are kept;
   * `leaveOut` says what the others are. `isScratch`: whether arrays may hold anything before they are written.
   */
  constructor(
    name: string,
    length: number,
    width = 1,
    indexed = hasLoops(),
    kept = length / width,
    isScratch: boolean = false,
  ) {
    super();
    this.name = name;
    this.length = length;
    this.width = width;
    this.#components =
      indexed && length > 0
        ? Array.from({ length: width }, (_, k) =>
            array(width === 1 ? name : `${name}_${k}`, Math.max(kept, 1), "f32", isScratch),
          )
        : [];
  }

  /** The rows that are not kept. */
  get leftOut(): LeftOut | undefined {
    return this.#leftOut;
  }

  /** Rows that are left out are now what this says. */
  leaveOut(rows: LeftOut): void {
    this.#leftOut = rows;
  }

  /** A row of those that are left out, or of those that are kept, whichever it is. */
  #wholeRow(i: Int, leftOut: LeftOut): readonly Scalar[] {
    const { kept, placeOf, read } = leftOut;
    const place = placeOf(i);
    if (!isNode(place)) {
      if (place >= kept) return read(place - kept);
      return this.#components.map((c) => c.get(place));
    }
    const beside = read(max(sub(place, kept), 0));
    const own = min(place, kept - 1);
    return this.#components.map((c, k) => select(ge(place, kept), beside[k], c.get(own)));
  }

  /** Whether rows can be read at runtime indices. */
  get isIndexed(): boolean {
    return this.#components.length > 0;
  }

  #register(index: number): Variable {
    return (this.#registers[index] ??= variable(`${this.name}_${index}`));
  }

  /** The component and the row of a flat index; at run time only rows as wide as the field's can be addressed. */
  #place(index: Int): { component: LocalArray; row: Int } {
    if (!isNode(index)) {
      return { component: this.#components[index % this.width], row: Math.floor(index / this.width) };
    }
    if (this.width === 1) return { component: this.#components[0], row: index };
    throw this.#badIndex(`has rows of ${this.width} and was read at a flat runtime index. Read whole rows`);
  }

  #badIndex(what: string): CorralError {
    return new CorralError("trace-index", `${this.name} ${what}.`, { name: this.name });
  }

  #check(index: Int): void {
    if (isNode(index)) {
      if (this.#components.length > 0) return;
      throw this.#badIndex("is in registers and was read at a runtime index. Use an array() of its own");
    }
    if (!(index >= 0 && index < this.length)) {
      throw new CorralError("trace-index", `${this.name}[${index}] is outside its ${this.length} elements.`);
    }
  }

  at(index: Int): Scalar {
    this.#check(index);
    if (this.#leftOut && !isNode(index)) {
      const row = Math.floor(index / this.width);
      if (this.isIndexed) return this.#wholeRow(row, this.#leftOut)[index % this.width];
      const place = this.#leftOut.placeOf(row) as number;
      if (place >= this.#leftOut.kept) return this.#leftOut.read(place - this.#leftOut.kept)[index % this.width];
    }
    if (this.#components.length === 0) return this.#register(index as number).get();
    const { component, row } = this.#place(index);
    return component.get(row);
  }

  set(index: Int, value: Scalar): void {
    this.#check(index);
    if (this.#components.length === 0) return this.#register(index as number).set(value);
    const { component, row } = this.#place(index);
    component.set(this.#leftOut ? this.#leftOut.placeOf(row) : row, value);
  }

  override slice(i: Int, width: number): Scalar[] {
    if (!isNode(i) || this.#components.length === 0 || this.width === 1) return super.slice(i, width);
    if (width !== this.width) throw this.#badIndex(`has rows of ${this.width} and was read in rows of ${width}`);
    if (this.#leftOut) return [...this.#wholeRow(i, this.#leftOut)];
    return this.#components.map((c) => c.get(i));
  }

  /** Sets row `i`; the width is that of `values`. */
  setRow(i: Int, values: readonly Scalar[]): void {
    if (isNode(i) && this.#components.length > 0 && this.width > 1) {
      if (values.length !== this.width) throw this.#badIndex(`has rows of ${this.width} and is given ${values.length}`);
      const row = this.#leftOut ? this.#leftOut.placeOf(i) : i;
      values.forEach((v, k) => this.#components[k].set(row, v));
      return;
    }
    const start = mul(i, values.length);
    values.forEach((v, k) => this.set(add(start, k), v));
  }

  /** Rows of this field. */
  get rows(): number {
    return this.length / this.width;
  }

  /** All elements, at constant indices. */
  all(): Scalar[] {
    return Array.from({ length: this.length }, (_, i) => this.at(i));
  }
}

/** A field of the data, whose stages say what they touch. */
class DataField extends Field {
  override at(index: Int): Scalar {
    assertDeclared("reads", this.name);
    return super.at(index);
  }
  override set(index: Int, value: Scalar): void {
    assertDeclared("writes", this.name);
    super.set(index, value);
  }
  override slice(i: Int, width: number): Scalar[] {
    assertDeclared("reads", this.name);
    return super.slice(i, width);
  }
  override setRow(i: Int, values: readonly Scalar[]): void {
    assertDeclared("writes", this.name);
    super.setRow(i, values);
  }
}

/** A field that is zero and stays so. */
class ZeroField extends Field {
  override at(): Scalar {
    return 0;
  }
  override set(): void {
    throw new CorralError("trace-zero-field", `${this.name} is not part of this batch and cannot be written.`);
  }
}

/** What stages read of the model: arrays as columns, sizes as numbers, adjustable options as parameters. */
export type ModelView = {
  readonly [K in keyof Model]: Model[K] extends Float64Array | Int32Array | Uint8Array ? Column : Model[K];
} & {
  readonly timestep: TraceNode;
  readonly gravity: Vec3;
  readonly tolerance: TraceNode;
  readonly ls_tolerance: TraceNode;
  /** stat.meaninertia, which goes with the masses. */
  readonly meaninertia: Scalar;
  /** The most speeds of `speedLimits` (m/s, rad/s). */
  readonly speed_limit: { readonly at: (i: number) => Scalar };
  /** What follows from how the kernel's code is laid out. */
  readonly form: KernelForm;
  /** The model itself, for decisions taken at trace time. */
  readonly model: Model;
};

/** Numbers of history buffers from which on they are an array in straight-line code too. */
const LONG_HISTORY = 64;

/** What stages read and write: one field for each row of the field table, made when first used. */
export type WorldData = { readonly [K in FieldName]: Field };

export function modelView(model: Model, perWorld: PerWorld = new Map()): ModelView {
  const gravity = [param("gravity_x"), param("gravity_y"), param("gravity_z")];
  const own = (name: string, i: number, shared: Scalar): Scalar => perWorld.get(name)?.at(i) ?? shared;
  const view: Record<string, unknown> = {
    model,
    form: formOf(model),
    timestep: param("timestep"),
    get gravity() {
      return gravity.map((g, i) => own("gravity", i, g));
    },
    get meaninertia() {
      return own("meaninertia", 0, model.stat.meaninertia);
    },
    speed_limit: { at: (i: number) => own("speed_limit", i, model.speedLimits![i].limit) },
    tolerance: param("tolerance"),
    ls_tolerance: param("ls_tolerance"),
  };
  const places = current().exact ? sameFrames(model, perWorld) : {};
  for (const [name, value] of Object.entries({ ...model, ...places })) {
    if (name in view) continue;
    if (value instanceof Float64Array) view[name] = new Column(name, value, "f32", perWorld.get(name));
    else if (value instanceof Int32Array || value instanceof Uint8Array) view[name] = new Column(name, value, "i32");
    else view[name] = value;
  }
  return view as ModelView;
}

/** Which fields worlds have numbers of their own of. */
export const ownFields = (m: ModelView): { has(field: string): boolean } => ({
  has: (field) => (m[field as "body_quat"] as Column | undefined)?.isOwn ?? false,
});

/** The data of one world; `capacities` are those of contacts and rows, `perWorld` what it has of its own of the model. Fields named in `zero` are zero throughout: what depends on them folds away. */
export function worldData(
  model: Model,
  zero: readonly FieldName[] = [],
  capacities: Capacities = {},
  perWorld: { has(field: string): boolean } = new Map(),
): WorldData {
  const fields = new Map<string, Field>(zero.map((name) => [name, new ZeroField(name, fieldSize(model, name))]));
  return new Proxy({} as WorldData, {
    get(_, name) {
      if (typeof name !== "string") return undefined;
      let field = fields.get(name);
      if (!field) {
        const shape = fieldShape(model, name as FieldName, capacities);
        const size = shape.reduce((n, d) => n * d, 1);
        // places of contacts and rows are known at run time only; long histories and sensors move in loops
        const indexed =
          fieldRow(name as FieldName).shape.some((dim) => typeof dim === "string" && dim in capacities) ||
          (name === "history" && size > LONG_HISTORY) ||
          (name === "sensordata" && hasLongSensors(model));
        const isFrame = name === "geom_xpos" || name === "geom_xmat";
        const kept = isFrame ? model.ngeom - leftOutIds(model, perWorld, current().roomy).length : undefined;
        field = new DataField(name, size, shape.length > 1 ? shape.at(-1) : 1, indexed || undefined, kept);
        fields.set(name, field);
      }
      return field;
    },
  });
}
