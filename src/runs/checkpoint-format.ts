// what a checkpoint may hold, field by field; what fits a run's own learner and worlds is for them to say
import {
  anyNumber,
  boolean,
  identifier,
  integer,
  list,
  Mismatch,
  nullable,
  numbers,
  object,
  oneOf,
  optional,
  plain,
  real,
  record,
  text,
  type Kind,
} from "../core/schema.ts";
import type { ArenaSnapshot, Snapshot } from "../batch/snapshot.ts";
import type { VecSnapshot } from "../env/host/time-travel.ts";
import type { ArenaLayout, FieldLayout } from "../memory/layout.ts";
import type { Evaluation } from "../rl/evaluate.ts";
import { MOST_SEEN, type Seen } from "./growth.ts";
import type { RunState } from "./progress.ts";

/** What run a checkpoint is of, and how far that was. */
export interface CheckpointAbout {
  readonly corral: string;
  readonly device: string;
  readonly iteration: number;
  readonly envSteps: number;
  readonly config: Readonly<Record<string, unknown>>;
}

const count = integer(0);
const name = text();
/** Settings of a run are numbers, words and lists of them; those of its task may be anything plain. */
const settingName = text(256, /^(?!__proto__$)[\w.$-]+$/, "the name of a setting");

export const aboutKind: Kind<CheckpointAbout> = object<CheckpointAbout>({
  corral: text(64),
  device: name,
  iteration: count,
  envSteps: count,
  config: record(settingName, plain(16)),
});

const fieldKind: Kind<FieldLayout> = object<FieldLayout>({
  name,
  group: name,
  type: oneOf("f32", "i32", "u32"),
  perWorld: count,
  shared: count,
  sharedOffset: count,
  worldOffset: count,
  worldVec4s: count,
  bytesPerWorld: count,
  remedy: nullable(name),
});

const layoutKind: Kind<ArenaLayout> = object<ArenaLayout>({
  name,
  access: oneOf("read", "read_write", "uniform", "slots", "staging", "upload"),
  layout: oneOf("tiles", "rows"),
  scope: oneOf("shard", "batch"),
  copies: count,
  window: nullable(count),
  tileWidth: integer(4, 256),
  fields: list(fieldKind, { max: 1024 }),
  sharedBytes: count,
  bytesPerWorld: count,
  worldVec4s: count,
});

const recordsKind: Kind<ArenaSnapshot["records"]> = object<ArenaSnapshot["records"]>({
  f32: numbers<Float32Array | Float64Array>([Float32Array, Float64Array]),
  u32: numbers<Uint32Array | Float64Array>([Uint32Array, Float64Array]),
});

const snapshotKind: Kind<Snapshot> = object<Snapshot>({
  name,
  numEnvs: integer(1, 2 ** 32),
  steps: count,
  arenas: record(name, object<ArenaSnapshot>({ layout: layoutKind, records: recordsKind }), { max: 1024 }),
  params: record(name, anyNumber),
});

const vecKind: Kind<VecSnapshot> = object<VecSnapshot>({ batch: snapshotKind, wasReset: boolean });

const evaluationKind: Kind<Evaluation> = object<Evaluation>({
  episodes: count,
  meanReturn: anyNumber,
  meanLength: anyNumber,
  returns: numbers([Float64Array]),
  cut: count,
});

/** The worlds of a thread, as the thread takes them back. */
interface Thread {
  readonly env?: unknown;
}

const collectorKind = object({
  version: count,
  batch: nullable(object({ words: numbers([Uint32Array]), episodes: plain(4) })),
  threads: list(plain(16) as Kind<Thread>, { max: 1024 }),
});

type Learnt = RunState["snapshot"] & { readonly collector?: unknown };

const seenKind: Kind<Seen> = object<Seen>({
  values: list(real(0), { max: MOST_SEEN }),
  stride: integer(1),
  count,
  warned: boolean,
});

/** What a run resumes from. */
export const stateKind: Kind<RunState> = object<RunState>({
  snapshot: object<Learnt>({
    iteration: count,
    envSteps: count,
    rateScale: real(0, 1),
    learner: record(identifier, numbers([Uint32Array]), { max: 4096 }),
    env: vecKind,
    collector: optional(collectorKind),
  }),
  seconds: real(0),
  evaluation: optional(evaluationKind),
  lowered: count,
  growth: optional(record(identifier, seenKind, { max: 64 })),
});

/** Reads a part of a checkpoint. Throws what `refuse` makes of what is wrong with it. */
export function readPart<T>(kind: Kind<T>, value: unknown, what: string, refuse: (why: string) => Error): T {
  try {
    return kind.read(value, [what]);
  } catch (error) {
    if (error instanceof Mismatch || error instanceof RangeError) throw refuse(error.message);
    throw error;
  }
}
