// where a kernel is cut into pieces, for GPUs whose lanes have no registers for all of it (docs/decisions/0054)
import { STAGES } from "../../physics/stages.ts";
import type { ArenaRequest } from "../../memory/request.ts";
import { canCutAt, type Turn } from "../../trace/cut.ts";
import { costOf } from "../../trace/cost.ts";
import type { Trace } from "../../trace/graph.ts";
import { arraysBeyond, foursAway, moveAway, type PrivateRoom } from "../../trace/away.ts";
import { analyse } from "../../trace/liveness.ts";
import { CELLS, cutTrace } from "../../trace/pieces.ts";
import { pressureOf, type Pressure } from "../../trace/pressure.ts";
import { toWgsl, type WgslForm, type WgslKernel } from "../../trace/wgsl.ts";
import { compileSeconds } from "./compile-cost.ts";
import { assertRoom, SLOTS_AN_ACCESS, type Emission } from "./emission.ts";

/** A kernel in pieces. */
export interface CutKernel {
  /** The stages that pieces of an evaluation begin with. */
  readonly marks: readonly string[];
  readonly pieces: readonly { readonly name: string; readonly stage: string; readonly kernel: WgslKernel }[];
  /** Which piece runs when, by number. */
  readonly turns: readonly Turn[];
  /** What passes between pieces. */
  readonly cells: ArenaRequest;
}

/** Values that live at once by the order of the text, beyond which a kernel is cut: compilers need 0.7 registers for each. */
const MOST_WHOLE = 400;
/** The same, of a piece. */
const MOST_OF_PIECE = 250;
/** A stage that is beyond it by itself takes others along that add no more than this part. */
const ALONG = 1.25;
const LITTLE = 100;

/** Statements beyond which a kernel is cut too: NVIDIA's compiler makes 12 to 20 bytes of each, and an H100's cache holds 128 KB. */
const MOST_STATEMENTS = 10_000;
/** A long piece is cut at the solver where at least this part of it comes before. */
const WORTH = 0.25;
/**
 * Values of a piece that may live at once against those of a whole kernel. A piece is less of branches and short stages,
 * where values live apart: compilers need 1.0 to 1.35 registers for each (docs/decisions/0059).
 */
const OF_PIECE = 0.66;

/** Processor seconds beyond which straight-line code is cut for SwiftShader, by counts that say too few (docs/decisions/0134). */
const MOST_WHOLE_SECONDS = 8;
/** What a read of a table adds to that there: searches of hulls, which read them, compile two to four times as long as is counted. */
const SECONDS_A_TABLE_READ = 0.02;
/** There: collision and the solver are the most of it, and with what lies between them compile longer than apart. */
const LONG_MARKS = ["transmission", "solver"];
/** In loops: two halves, where the operations of both are so many that the whole takes 20 s (docs/decisions/0136). */
const LONG_MARKS_IN_LOOPS = ["solver"];
const MOST_OPERATIONS_IN_LOOPS = 24_000;

/** The arena of a kernel's cells. */
export const cellArena = (kernel: string): string => `${kernel.split(".")[0]}.${CELLS}`;

/** The stages that a kernel is cut at; none if it need not be. */
export function marksOf(trace: Trace, { cut, target }: Pick<Emission, "cut" | "target">): readonly string[] {
  if (cut === false) return [];
  if (target === "software") {
    const marks = trace.unroll ? LONG_MARKS : LONG_MARKS_IN_LOOPS;
    if (compilesLong(trace, marks)) return marks;
  }
  if (cut === "long") return [];
  const force = cut === true;
  const pressure = pressureOf(trace, analyse(trace));
  const isLong = pressure.length > MOST_STATEMENTS;
  if (!force && !isLong && pressure.most(0, pressure.length) <= MOST_WHOLE) return [];
  const marks = greedy(pressure);
  return marks.length === 0 && !force && !isLong ? marks : atSolver(pressure, marks);
}

/** Whether SwiftShader compiles a kernel so long that pieces are worth what passes between them. */
function compilesLong(trace: Trace, marks: readonly string[]): boolean {
  if (!marks.every((mark) => canCutAt(trace, mark))) return false;
  const cost = costOf(trace);
  if (!trace.unroll) return cost.arithmetic > MOST_OPERATIONS_IN_LOOPS;
  const reads = cost.operations.table ?? 0;
  return compileSeconds(cost, "swiftshader") + SECONDS_A_TABLE_READ * reads > MOST_WHOLE_SECONDS;
}

/** The marks, and the solver, where the piece that holds it is long or the whole. */
function atSolver({ stages, length }: Pressure, marks: readonly string[]): string[] {
  const solver = stages.filter(({ name }) => name === "solver");
  if (solver.length !== 1 || marks.includes("solver")) return [...marks];
  const [{ at }] = solver;
  const cuts = stages.filter(({ name }) => marks.includes(name));
  const before = cuts.filter((cut) => cut.at < at);
  const start = before.at(-1)?.at ?? 0;
  const end = cuts[before.length]?.at ?? length;
  const isShort = end - start <= MOST_STATEMENTS || at - start < WORTH * (end - start);
  if (marks.length > 0 && isShort) return [...marks];
  return [...before, ...solver, ...cuts.slice(before.length)].map(({ name }) => name);
}

/** Pieces that are as long as they may be. A stage that does not fit by itself takes along what needs hardly more. */
function greedy({ stages, length, most }: Pressure): string[] {
  const own = stages.filter(({ name }) => name in STAGES && stages.filter((s) => s.name === name).length === 1);
  const endOf = (i: number) => own[i + 1]?.at ?? stages.find(({ at }) => at > own[i].at)?.at ?? length;
  const pieces: { start: number; end: number; bound: number }[] = [];
  own.forEach((stage, i) => {
    const piece = { start: stage.at, end: endOf(i), bound: Math.max(MOST_OF_PIECE, ALONG * most(stage.at, endOf(i))) };
    const before = pieces.at(-1);
    const isHeavy = before !== undefined && piece.bound > Math.max(before.bound, MOST_OF_PIECE);
    // before one that does not fit, only what takes next to nothing is not worth a dispatch
    const joins = before && (!isHeavy || most(before.start, before.end) <= LITTLE);
    const bound = Math.max(before?.bound ?? 0, piece.bound);
    if (joins && most(before.start, piece.end) <= bound) Object.assign(before, { end: piece.end, bound });
    else pieces.push(piece);
  });
  return pieces.slice(1).map(({ start }) => own.find(({ at }) => at === start)!.name);
}

/** A kernel in pieces that begin at `marks`; undefined where it has none of them, or the host cannot count its loops. */
export function cutKernel(
  name: string,
  title: string,
  trace: Trace,
  marks: readonly string[],
  form: WgslForm,
  tileWidth: number,
): CutKernel | undefined {
  // drivers that compile for CPUs take a place that touches a buffer apart by lane and word
  const inLoops = form.tablesApart !== "storage";
  const bytes = form.privateRoom ?? Infinity;
  const room = inLoops ? { bytes, perAccess: SLOTS_AN_ACCESS } : { bytes };
  const cut = marks.length > 0 ? cutTrace(trace, new Set(marks), tileWidth, room, inLoops) : undefined;
  if (!cut) return undefined;
  const { mostLive } = form;
  const own = mostLive === undefined ? form : { ...form, mostLive: Math.round(OF_PIECE * mostLive) };
  const pieces = cut.pieces.map((piece, i) => ({
    name: `${name}.${i}`,
    stage: piece.name,
    kernel: toWgsl(piece.trace, { ...own, title: `${title} ${i + 1} of ${cut.pieces.length}: ${piece.name}` }),
  }));
  return { marks, pieces, turns: cut.turns, cells: cellsOf(name, cut.fours, "cut: false") };
}

/** The arena of a kernel's cells, of so many fours a world. */
function cellsOf(kernel: string, fours: number, remedy?: string): ArenaRequest {
  const name = cellArena(kernel);
  const field = { name, group: "model", type: "u32", perWorld: 4 * fours, ...(remedy ? { remedy } : {}) } as const;
  return { name, access: "read_write", fields: [field] };
}

/**
 * A kernel that runs whole, with its arrays in cells where it has no room for them; undefined where it has.
 * @throws CorralError kernel-too-large
 */
export function roomyTrace(
  { name, title }: { readonly name: string; readonly title: string },
  trace: Trace,
  room: PrivateRoom = { bytes: Infinity },
  tile: number,
  byWorld = false,
): { readonly trace: Trace; readonly cells: ArenaRequest } | undefined {
  if (room.bytes === Infinity) return undefined;
  const { away, lacking } = arraysBeyond(trace, room);
  assertRoom(title, room, lacking);
  if (away.length === 0) return undefined;
  const stride = foursAway(away);
  const moved = moveAway(trace, away, { buffer: CELLS, tile, stride, first: 0, byWorld });
  return { trace: moved, cells: cellsOf(name, stride) };
}
