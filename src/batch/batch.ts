// a batch: kernels over arenas of world records, on a GPU device or on the CPU
import type { FloatPrecision } from "../core/float32.ts";
import { timed } from "../core/spans.ts";
import type { Trace, TraceForm } from "../trace/graph.ts";
import type { ArenaLayout } from "../memory/layout.ts";
import type { AdapterInfo, GpuDevice } from "../gpu/device.ts";
import { planBatch, type Plan } from "../memory/plan.ts";
import type { Arithmetic } from "./kernel/arithmetic.ts";
import { cellArena, cutKernel, marksOf, roomyTrace, type CutKernel } from "./kernel/cuts.ts";
import { assertCompiles, emissionFor, privateRoomOf, type Emission, type Target } from "./kernel/emission.ts";
import type { ArenaRequest, BudgetView, HostBytes, PlanLimits } from "../memory/request.ts";
import { CELLS } from "../trace/pieces.ts";
import { FIXED_PARAMS, TABLES, toWgsl, type WgslKernel } from "../trace/wgsl.ts";

/** A number of all kernels of a batch that the host may change between runs. */
export interface BatchParam {
  readonly name: string;
  readonly type: "f32" | "i32" | "u32";
  readonly initial: number;
}

/** A kernel, traced once the layout of the arenas is known. */
export interface KernelSource {
  readonly name: string;
  /** Whether it evaluates the physics, and may be cut between stages. */
  readonly isStep?: boolean;
  readonly trace: (layouts: Readonly<Record<string, ArenaLayout>>, form: TraceForm) => Trace;
}

/** What a batch is made of; plain data and pure functions, no device. */
export interface BatchSpec {
  readonly name: string;
  /** Of the model; names may be the same. */
  readonly mjcf?: string;
  readonly numEnvs: number;
  readonly arenas: readonly ArenaRequest[];
  readonly params: readonly BatchParam[];
  readonly kernels: readonly KernelSource[];
  /** Whether its kernels are straight-line code. Default: they are. */
  readonly unrolled?: (target: Target) => boolean;
  /** Whether kernels compute in float64 for such a target; default: they do not. */
  readonly wide?: (target: Target) => boolean;
  /** What the process takes beside the arenas. */
  readonly host?: readonly HostBytes[];
}

/** What the plan depends on besides the spec. */
export interface PlanContext {
  readonly limits?: PlanLimits;
  readonly budget?: BudgetView;
  readonly tileWidth?: number;
  /** How kernels are written. Default: as for a software driver. */
  readonly emission?: Emission;
  /** At least this many shards; more than one is for tests of their equality. */
  readonly minShards?: number;
}

/** A batch before it holds anything: traced kernels and the plan of every byte. */
export interface PlannedBatch {
  readonly spec: BatchSpec;
  readonly traces: ReadonlyMap<string, Trace>;
  readonly kernels: ReadonlyMap<string, WgslKernel>;
  /** Those of them that run in pieces, on a GPU. */
  readonly cuts: ReadonlyMap<string, CutKernel>;
  /** Arenas of constants that the kernels read, and of what passes between pieces. */
  readonly tables: readonly ArenaRequest[];
  readonly plan: Plan;
}

/** Worlds a tile: the SIMD width of CPU drivers. */
export const DEFAULT_TILE_WIDTH = 8;
/** Arenas that copy others are called after them, with this at the end; they are read while kernels run. */
export const SHADOW = ".last";
/** Bytes of each staging buffer, for a world and at most; larger reads go in pieces. */
const STAGING_BYTES_PER_WORLD = 1 << 10;
const STAGING_BYTES = 1 << 20;

export const layoutsOf = (plan: Plan): Record<string, ArenaLayout> =>
  Object.fromEntries(plan.arenas.map((a) => [a.name, a]));

/** What a batch holds whatever its kernels are. */
function fixedArenas(spec: BatchSpec): ArenaRequest[] {
  const params = FIXED_PARAMS.length + spec.params.length;
  return [
    ...spec.arenas,
    {
      name: "params",
      access: "uniform",
      scope: "shard",
      fields: [{ name: "params", group: "model", type: "u32", shared: params }],
    },
    stagingArena("staging", 2),
  ];
}

/** The plan of a batch without the constants of its kernels, a few hundred bytes: nothing is traced for it. */
export function planArenas(spec: BatchSpec, context: PlanContext = {}): Plan {
  const { name, numEnvs, host = [] } = spec;
  const arenas = fixedArenas(spec);
  const bound = arenas.filter((a) => a.access === "read" || a.access === "read_write").map((a) => a.name);
  const stages = [{ name: "kernels", arenas: bound }];
  return planBatch({ name, numEnvs, tileWidth: DEFAULT_TILE_WIDTH, ...context, arenas, stages, host });
}

/** How to plan. */
export interface PlanHelp {
  /** The same batch with another count of worlds: its kernels are taken over, what they address does not depend on it. */
  readonly known?: PlannedBatch;
  /** Whose kernels are taken over though they address other arenas: only the sizes of the plan are wanted. */
  readonly like?: PlannedBatch;
  /** Told of each kernel before the next is traced, and of the plan without the constants of the kernels. */
  readonly traced?: (name: string, kernel: WgslKernel, plan: Plan) => void;
}

/** Traces the kernels and plans every buffer of a batch. Needs no device. */
export function planOf(
  spec: BatchSpec,
  context: PlanContext = {},
  { known, like, traced = () => {} }: PlanHelp = {},
): PlannedBatch {
  const { name, numEnvs, host = [] } = spec;
  const bare = planArenas(spec, context);
  const layouts = layoutsOf(bare);
  const tell = (kernel: string, made: WgslKernel) => traced(kernel, made, bare);

  const { traces, kernels, cuts, tables } =
    like ??
    (known && sameLayouts(known, layouts)
      ? known
      : timed("trace", () => traceKernels(spec, layouts, tell, bare.tileWidth, context.emission)));
  const arenas = [...fixedArenas(spec), ...tables];
  const stages = compiledKernels({ kernels, cuts }).map(([kernelName, { buffers }]) => ({
    name: kernelName,
    arenas: buffers.map((b) => arenaOf(kernelName, b.name)),
  }));
  const plan = planBatch({ name, numEnvs, tileWidth: DEFAULT_TILE_WIDTH, ...context, arenas, stages, host });
  return { spec, traces, kernels, cuts, tables, plan };
}

/** What a GPU compiles: kernels, or their pieces. */
export const compiledKernels = ({
  kernels,
  cuts,
}: Pick<PlannedBatch, "kernels" | "cuts">): (readonly [string, WgslKernel])[] =>
  [...kernels].flatMap(([name, kernel]) =>
    (cuts.get(name)?.pieces ?? [{ name, kernel }]).map((piece) => [piece.name, piece.kernel] as const),
  );

/** Staging buffers, which reads go through. */
export function stagingArena(name: string, copies: number): ArenaRequest {
  const perWorld = STAGING_BYTES_PER_WORLD / 4;
  const fields = [{ name, group: "staging", type: "u32", perWorld }] as const;
  return { name, access: "staging", scope: "batch", copies, window: STAGING_BYTES, fields };
}

function sameLayouts(known: PlannedBatch, layouts: Record<string, ArenaLayout>): boolean {
  const before = layoutsOf(known.plan);
  return Object.values(layouts).every((layout) => JSON.stringify(before[layout.name]) === JSON.stringify(layout));
}

/** The kernels of a batch, and arenas for the tables that they read. */
function traceKernels(
  spec: BatchSpec,
  layouts: Record<string, ArenaLayout>,
  tell: (name: string, kernel: WgslKernel) => void,
  tileWidth: number,
  emission: Emission = emissionFor(undefined),
) {
  const traces = new Map<string, Trace>();
  const kernels = new Map<string, WgslKernel>();
  const cuts = new Map<string, CutKernel>();
  const tables: ArenaRequest[] = [];
  const form = {
    unroll: spec.unrolled?.(emission.target) ?? true,
    roomy: emission.roomy,
    // other software drivers compile long arrays for minutes, and GPUs have less memory for each world
    hasArena: emission.mostPrivate !== undefined,
    wide: spec.wide?.(emission.target) ?? false,
  };
  for (const source of spec.kernels) {
    const traced = source.trace(layouts, form);
    const title = `${spec.name}: ${source.name}`;
    // on a GPU a step that has no room is long, and runs in pieces, which have theirs
    const whole = !source.isStep || (emission.target !== "gpu" && [false, "long"].includes(emission.cut));
    const room = whole ? privateRoomOf(title, traced, emission) : undefined;
    const pieceForm = room === undefined ? emission : { ...emission, privateRoom: Math.floor(room.bytes) };
    const marks = source.isStep ? marksOf(traced, emission) : [];
    const cut = cutKernel(source.name, title, traced, marks, pieceForm, tileWidth);
    const isSoftware = emission.target === "software";
    const roomy = cut ? undefined : roomyTrace({ name: source.name, title }, traced, room, tileWidth, isSoftware);
    if (roomy) tables.push(roomy.cells);
    const kernel = toWgsl(roomy?.trace ?? traced, { ...(cut ? pieceForm : emission), title });
    traces.set(source.name, traced);
    kernels.set(source.name, kernel);
    if (cut) {
      cuts.set(source.name, cut);
      tables.push(cut.cells);
    }
    for (const { name, kernel: made } of cut?.pieces ?? [{ name: source.name, kernel }]) {
      assertCompiles(`${spec.name}: ${name}`, made, emission);
      tables.push(...tableArenas(name, made));
      tell(name, made);
    }
  }
  return { traces, kernels, cuts, tables };
}

/** Arenas for the tables that a kernel reads. */
export function tableArenas(kernelName: string, { buffers, tables }: WgslKernel): ArenaRequest[] {
  return (["f32", "i32"] as const).flatMap((type) => {
    const data = tables[type];
    if (!data) return [];
    const name = tableArena(kernelName, type);
    const { access } = buffers.find((b) => b.name === TABLES[type])!;
    return [{ name, access, scope: "batch", fields: [{ name, group: "model", type, shared: data.length }] }];
  });
}

const tableArena = (kernel: string, type: "f32" | "i32"): string => `${kernel}.tables_${type}`;

/** The arena that a kernel's buffer is bound to. */
export function arenaOf(kernel: string, buffer: string): string {
  if (buffer === TABLES.f32) return tableArena(kernel, "f32");
  if (buffer === TABLES.i32) return tableArena(kernel, "i32");
  if (buffer === CELLS) return cellArena(kernel);
  return buffer;
}

/** Numbers of one buffer, as the host reads them: floats, and the same bytes as words. */
export interface HostRecords {
  readonly f32: Float32Array | Float64Array;
  readonly u32: Uint32Array | Float64Array;
}

/** Values of one shard's buffer of an arena from element `start` on (default 0), and where they go. */
export interface BatchRegion {
  readonly arena: string;
  readonly shard: number;
  readonly into: Float32Array | Float64Array | Uint32Array;
  readonly start?: number;
}

/** What `Batch.submit` hands to its caller: one compute pass, and runs of the batch's kernels in it. */
export type EncodePass = (pass: GPUComputePassEncoder, run: (kernel: string) => void) => void;

/** A batch that holds its memory and runs kernels. */
export interface Batch extends AsyncDisposable {
  readonly planned: PlannedBatch;
  /** Where it runs, in words. */
  readonly deviceName: string;
  /** How it holds floats. */
  readonly precision: FloatPrecision;
  /** The adapter; undefined on the CPU. */
  readonly adapter: AdapterInfo | undefined;
  /** The device; undefined on the CPU. */
  readonly gpu: GpuDevice | undefined;
  /** Whether it holds float64 numbers, integers too (JavaScript on the CPU), rather than words of 32 bits. */
  readonly doubles: boolean;
  /** Threads that it might take, where it is WebAssembly. */
  readonly mostThreads?: number;
  setParam(name: string, value: number): void;
  /** Queues runs of kernels over all worlds, one after the other, in one submission. */
  run(...kernels: string[]): void;
  /**
   * Queues one submission: what `encode` encodes, which must not await. Nothing is queued if it throws. Undefined on
   * the CPU.
   */
  submit?(what: string, encode: EncodePass): void;
  /** Queues a copy of all of an arena to another of the same layout. */
  copy(from: string, to: string): void;
  /**
   * Writes one shard's buffer of an arena from element `start` on. Elements of u32 fields are words in `u32`. A few
   * megabytes are queued when this returns; more goes in pieces, and nothing else may be queued until it resolves.
   */
  write(arena: string, shard: number, data: HostRecords, start?: number): Promise<void>;
  /** Reads one shard's buffer of an arena, after all runs queued before. */
  read(arena: string, shard: number): Promise<HostRecords>;
  /** Reads into arrays made before, all regions in one round trip if they fit the staging memory together. */
  readInto(regions: readonly BatchRegion[]): Promise<void>;
  /** The GPU buffer of one shard of an arena; undefined on the CPU. */
  buffer(arena: string, shard: number): GPUBuffer | undefined;
  /** Resolves when everything queued before has completed. Rejects with `work-refused` if the device refused any. */
  sync(): Promise<void>;
  /** Values of all parameters, by name. */
  params(): Readonly<Record<string, number>>;
  /** Goes on after `work-refused`: the caller is about to write all state anew. */
  forgive(): void;
  close(): Promise<void>;
}

/** What the steps of a batch are computed in. */
export const arithmeticOf = ({ precision, planned }: Batch): Arithmetic =>
  precision === "f64" || planned.traces.get("step")?.wide ? "float64" : "float32";

/** An array pair of a size, in the precision of the device. */
export function hostRecords(length: number, double: boolean): HostRecords {
  if (double) {
    const values = new Float64Array(length);
    return { f32: values, u32: values };
  }
  const f32 = new Float32Array(length);
  return { f32, u32: new Uint32Array(f32.buffer) };
}
