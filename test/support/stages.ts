// stages, or all of forward and step, as programs of fields: evaluated in JavaScript or on a device
import { array, load4, loop, store4, world } from "../../src/trace/control.ts";
import { trace, type TraceOptions } from "../../src/trace/graph.ts";
import { add, mul, toF32, type Scalar } from "../../src/trace/scalar.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { fieldSize, fieldsOf, type FieldName } from "../../src/model/fields.ts";
import type { Model } from "../../src/model/model.ts";
import { simParams } from "../../src/batch/params.ts";
import { worldData, modelView, type WorldData, type ModelView } from "../../src/physics/view.ts";
import type { GpuDevice } from "../../src/gpu/index.ts";
import type { Values } from "./fixture.ts";
import { runGpu, runJs, type TestProgram } from "./trace-runner.ts";

/** What a stage computes besides fields, by name. */
export type Outputs = Record<string, readonly Scalar[]>;

/** One stage of the pipeline, or several: what it reads and writes, as its documentation says. */
export interface Stage {
  readonly name: string;
  readonly reads: readonly FieldName[];
  readonly writes: readonly FieldName[];
  /** Inputs that are no fields of the table, by name. */
  readonly extra?: (model: Model) => Readonly<Record<string, number>>;
  readonly run: (m: ModelView, d: WorldData, extra: (name: string) => readonly Scalar[]) => Outputs | void;
}

export interface How {
  /** "f64" with the host's transcendental functions, "f32", or a device. */
  readonly on: Precision | GpuDevice;
  readonly unroll: boolean;
  /** Whether private memory is a CPU's. */
  readonly roomy?: boolean;
}

type TraceForm = Pick<TraceOptions, "unroll" | "exact" | "roomy">;

interface StageProgram extends TestProgram {
  readonly names: readonly { readonly name: string; readonly at: number; readonly length: number }[];
}

/** Fields of the table with a size that the model alone decides. */
const FIELDS = [...fieldsOf("state"), ...fieldsOf("derived")]
  .filter((f) => f.type === "f32" && !f.shape.some((dim) => dim === "nconmax" || dim === "njmax"))
  .map((f) => f.name);

const fours = (n: number): number => Math.ceil(n / 4);

/** Traces a stage: fields that it reads come from a buffer, all others hold a bad value until it writes them. */
function traceStage(model: Model, stage: Stage, form: TraceForm): StageProgram {
  const extra = Object.entries(stage.extra?.(model) ?? {});
  const sizes = [...stage.reads.map((n) => [n, fieldSize(model, n)] as const), ...extra, ["bad", 1] as const];
  const inputs = sizes.reduce((n, [, size]) => n + size, 0);
  const names: { name: string; at: number; length: number }[] = [];
  let outputs = 0;

  const made = trace(() => {
    // in loops: drivers compile long for each place that touches a buffer
    const read = array("given", 4 * fours(inputs));
    loop(fours(inputs), (q) => {
      const four = load4("inputs", add(mul(world(), fours(inputs)), q), "f32", "read");
      four.forEach((x, k) => read.set(add(mul(q, 4), k), x));
    });
    const values = Array.from({ length: inputs }, (_, i) => read.get(i));
    const given = new Map<string, readonly Scalar[]>();
    let at = 0;
    for (const [name, size] of sizes) given.set(name, values.slice(at, (at += size)));

    const [m, d] = [modelView(model), worldData(model)];
    const [bad] = given.get("bad")!;
    for (const name of FIELDS) {
      const size = fieldSize(model, name);
      for (let i = 0; i < size; i++) d[name].set(i, given.get(name)?.[i] ?? bad);
    }
    const more = stage.run(m, d, (name) => given.get(name)!) ?? {};

    const results: Scalar[] = [];
    const put = (name: string, list: readonly Scalar[]) => {
      names.push({ name, at: results.length, length: list.length });
      results.push(...list.map((x) => toF32(x)));
    };
    for (const name of stage.writes) put(name, d[name].all());
    for (const [name, list] of Object.entries(more)) put(name, list);
    outputs = results.length;
    const written = array("results", 4 * Math.max(1, fours(outputs)));
    results.forEach((x, i) => written.set(i, x));
    loop(fours(outputs), (q) => {
      const four = [0, 1, 2, 3].map((k) => written.get(add(mul(q, 4), k)));
      store4("outputs", add(mul(world(), fours(outputs)), q), four as never);
    });
  }, form);
  return { trace: made, inputs, outputs, kind: "f32", outputKind: "f32", names };
}

const programs = new WeakMap<Model, Map<string, StageProgram>>();

/** The program of a stage, traced once for each model. */
export function stageProgram(model: Model, stage: Stage, how: How): StageProgram {
  const form = { unroll: how.unroll, exact: how.on === "f64", roomy: how.roomy ?? false };
  const key = `${stage.name} ${JSON.stringify(form)}`;
  let made = programs.get(model);
  if (!made) programs.set(model, (made = new Map()));
  let program = made.get(key);
  if (!program) made.set(key, (program = traceStage(model, stage, form)));
  return program;
}

/**
 * Evaluates a stage for several worlds. `worlds` gives what each reads, by name; the result gives what it writes.
 * What nobody writes is NaN (float64) or 1e30.
 */
export async function evaluate(
  model: Model,
  stage: Stage,
  worlds: readonly Values[],
  how: How,
): Promise<Record<string, Float64Array>[]> {
  const p = stageProgram(model, stage, how);
  const order = [...stage.reads, ...Object.keys(stage.extra?.(model) ?? {})];
  const bad = how.on === "f64" ? Number.NaN : 1e30;
  const rows = worlds.map((w) => [...order.flatMap((name) => Array.from(w[name] ?? missing(stage, name))), bad]);
  for (const row of rows)
    if (row.length !== p.inputs) throw new Error(`${stage.name}: ${row.length} inputs, not ${p.inputs}`);
  const params = Object.fromEntries(simParams(model).map((s) => [s.name, s.initial]));

  if (p.outputs === 0)
    return worlds.map(() => Object.fromEntries(p.names.map(({ name }) => [name, new Float64Array()])));
  const results =
    typeof how.on === "string" ? runJs(p, how.on, rows, { params }) : await runGpu(how.on, p, rows, { params });
  return results.map((row) =>
    Object.fromEntries(p.names.map(({ name, at, length }) => [name, Float64Array.from(row.slice(at, at + length))])),
  );
}

function missing(stage: Stage, name: string): never {
  throw new Error(`stage ${stage.name} reads ${name}, which was not given`);
}

/** A list filled at runtime indices and read at constant ones. */
export function outputList(name: string, length: number) {
  const values = array(name, Math.max(1, length));
  return {
    set: (index: Scalar, value: Scalar) => values.set(index, toF32(value)),
    get: (index: Scalar) => values.get(index),
    all: () => Array.from({ length }, (_, i) => values.get(i)),
  };
}
