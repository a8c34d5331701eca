// what a bundle may hold: its manifest and its records, field by field
import {
  anyNumber,
  boolean,
  identifier,
  integer,
  list,
  nullable,
  numbers,
  object,
  oneOf,
  optional,
  plain,
  record,
  text,
  type Kind,
} from "../core/schema.ts";
import type { AdapterInfo } from "../gpu/device.ts";
import type { BatchParam } from "../batch/batch.ts";
import { changeKind } from "../model/model-format.ts";
import type { ArenaRequest, FieldRequest } from "../memory/request.ts";
import { LEAST_LIVE, MOST_LIVE, type WgslKernel } from "../trace/wgsl.ts";
import type { BundleAbout, DeviceFacts, EnvFacts, TrippedWorld, Versions } from "./bundle.ts";
import type { Recording, Segment } from "./recorder.ts";
import type { Words } from "./words.ts";

/** Worlds of a bundle, and control steps of a segment: what a recorder takes at most. */
const MOST_WORLDS = 4096;
const MOST_STEPS = 2 ** 16;
const MOST_SEGMENTS = 256;
/** Stages that a step is cut at. */
const MOST_CUTS = 64;
/** Elements that a world has of a field, and worlds of a batch. */
const MOST_ELEMENTS = 2 ** 24;
const ALL_WORLDS = 2 ** 32;

const name = text(4096);
const words = text(65_536);
const count = (max = Number.MAX_SAFE_INTEGER) => integer(0, max);
const sha256 = text(64, /^[0-9a-f]{64}$/, "a SHA-256");
const version = text(64, /^[\w .+@-]*$/, "a version");
const numberType = oneOf("f32", "i32", "u32");
const size = count(MOST_ELEMENTS);
/** Seeds of 64 bits: numbers, or big integers. */
const seed: Kind<number | bigint> = {
  want: "a seed of 64 bits",
  read: (value, path) =>
    typeof value === "bigint" && value >= 0n && value < 2n ** 64n ? value : count().read(value, path),
};

/** Names of arenas and their fields: copies of others are called after them, with a word after a dot. */
const arenaName = text(128, /^[A-Za-z_][\w.]*$/, "a name of letters, digits, _ and dots");

const fieldKind: Kind<FieldRequest> = object<FieldRequest>({
  name: arenaName,
  group: text(32, /^\w*$/, "a word"),
  type: numberType,
  perWorld: optional(size),
  shared: optional(size),
  remedy: optional(name),
});

const arenaKind: Kind<ArenaRequest> = object<ArenaRequest>({
  name: arenaName,
  access: oneOf("read", "read_write"),
  fields: list(fieldKind, { min: 1, max: 256 }),
  layout: optional(oneOf("tiles", "rows")),
  scope: optional(oneOf("shard", "batch")),
  copies: optional(oneOf(1)),
  window: optional(nullable(integer(16, 2 ** 30))),
});

const paramKind: Kind<BatchParam> = object<BatchParam>({ name: identifier, type: numberType, initial: anyNumber });

const kernelKind: Kind<BundleAbout["batch"]["kernel"]> = object<BundleAbout["batch"]["kernel"]>({
  buffers: list(object({ name: arenaName, access: oneOf("read", "read_write", "uniform") }), { max: 64 }) as never,
  workgroupSize: optional(integer(1, 1024)),
  privateArrays: optional(oneOf("separate", "merged")),
  tablesApart: optional(oneOf("uniform", "storage")),
  mostLive: optional(integer(LEAST_LIVE, MOST_LIVE)),
  privateRoom: optional(integer(1, 1 << 20)),
  longLived: optional(integer(1, 1 << 20)),
  params: list(object({ name: identifier, type: numberType, slot: count(1024) }), { max: 1024 }) as never,
});

const envKind: Kind<EnvFacts> = object<EnvFacts>({
  id: name,
  options: record(name, plain()),
  numEnvs: integer(1, ALL_WORLDS),
  seed,
  autoreset: text(32, /^[\w-]*$/, "a word"),
  frameSkip: integer(1, 1e6),
  maxEpisodeSteps: nullable(integer(1)),
  nconmax: count(2 ** 20),
  unroll: boolean,
  onNonFinite: text(32, /^[\w-]*$/, "a word"),
  onOverflow: text(32, /^[\w-]*$/, "a word"),
  finite: object<EnvFacts["finite"]>({ observation: anyNumber, reward: anyNumber }),
  actionSize: count(2 ** 20),
  actionKind: oneOf("box", "discrete"),
  actionLow: optional(list(anyNumber, { max: 2 ** 20 })),
  actionHigh: optional(list(anyNumber, { max: 2 ** 20 })),
  rewards: list(name, { max: 4096 }),
  observation: list(object<{ name: string; size: number }>({ name, size }), { max: 4096 }),
  trips: list(name, { max: 8 }),
  own: optional(list(changeKind)),
  actuators: optional(list(name, { max: 4096 })),
  result: record(identifier, size, { max: 64 }),
});

const adapterKind: Kind<AdapterInfo> = object<AdapterInfo>({
  vendor: name,
  architecture: name,
  device: name,
  description: name,
  driver: name,
  kind: oneOf("gpu", "software"),
  source: text(32) as Kind<AdapterInfo["source"]>,
  subgroupMinSize: count(1024),
  subgroupMaxSize: count(1024),
});

const deviceKind: Kind<DeviceFacts> = object<DeviceFacts>({
  name,
  precision: oneOf("gpu", "f32", "f64"),
  adapter: nullable(adapterKind),
});

const world = count(ALL_WORLDS - 1);

const trippedKind: Kind<TrippedWorld> = object<TrippedWorld>({
  world,
  id: world,
  names: list(name, { max: 32 }),
  terms: list(name, { max: 4096 }),
  step: integer(1),
});

const versionKinds = { corral: version, mujoco: version, webgpu: version, node: version, platform: version } satisfies {
  [K in keyof Versions]: Kind<string>;
};

/** What a manifest says, beside its files. */
export const aboutKind: Kind<BundleAbout> = object<BundleAbout>({
  ...versionKinds,
  created: text(64),
  message: words,
  env: envKind,
  device: deviceKind,
  worlds: list(object<{ world: number; id: number }>({ world, id: world }), { min: 1, max: MOST_WORLDS }),
  tripped: list(trippedKind, { min: 1, max: MOST_WORLDS }),
  steps: object<BundleAbout["steps"]>({ first: count(), last: count() }),
  batch: object<BundleAbout["batch"]>({
    name,
    arenas: list(arenaKind, { min: 1, max: 64 }),
    params: list(paramKind, { max: 1024 }),
    kernel: kernelKind,
    cut: optional(
      object<{ stages: readonly string[]; pieces: string }>({
        stages: list(name, { min: 1, max: MOST_CUTS }),
        pieces: sha256,
      }),
    ),
  }),
  shader: sha256,
  program: sha256,
  model: object<BundleAbout["model"]>({ file: name, name }),
});

const wordsKind: Kind<Words> = numbers<Words>([Uint32Array, Float64Array]);
const states = record(arenaName, wordsKind, { max: 64 });

const segmentKind: Kind<Segment> = object<Segment>({
  start: count(),
  steps: count(MOST_STEPS),
  cut: boolean,
  params: record(identifier, anyNumber, { max: 1024 }),
  states,
  actions: wordsKind,
});

export const recordingKind: Kind<Recording> = object<Recording>({
  worlds: list(world, { min: 1, max: MOST_WORLDS }),
  segments: list(segmentKind, { min: 1, max: MOST_SEGMENTS }),
  end: states,
});

/** Contents of the tables of a kernel. */
export const tablesKind: Kind<WgslKernel["tables"]> = object<WgslKernel["tables"]>({
  f32: optional(numbers([Float32Array])),
  i32: optional(numbers([Int32Array])),
});
