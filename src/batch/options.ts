// options of every batch, of simulations and of environments
import { badOption, checked, kindOf, type Given, type OptionTable } from "../core/options.ts";
import { boolean, described, either, integer, list, oneOf, text, unchecked } from "../core/schema.ts";
import type { FieldName } from "../model/fields.ts";
import type { JointLimits } from "../model/limits.ts";
import { LEAST_LIVE, MOST_LIVE } from "../trace/wgsl.ts";
import { DEVICES, type DeviceChoice } from "./devices.ts";
import { ADJUSTABLE } from "./adjustable.ts";
import { ARITHMETIC } from "./kernel/arithmetic.ts";

/** Up to 256, every WebGPU device can run them. */
export const WORKGROUP_SIZES: readonly number[] = [8, 16, 32, 64, 128, 256, 512, 1024];

/** Most steps between two snapshots, and of an episode: results are float32, which counts exactly as far as this. */
export const MAX_STEPS = 2 ** 24;

/** Where a batch runs, and what it may hold. */
export const PLACEMENT_OPTIONS = {
  device: {
    kind: unchecked<DeviceChoice>(`an open device, or one of ${Object.keys(DEVICES).join(", ")}`),
    doc: "where to run: an open device, or a name; by default `CORRAL_DEVICE`, else auto",
  },
  adapter: {
    kind: either(text(256), integer(0)),
    doc: "adapter of the shared device: auto, gpu, system, embedded, or an index or a part of a name of `corral doctor`",
  },
  budget: {
    kind: unchecked<string | number>('bytes such as "2GiB", or a part of what is available, 0.5'),
    doc: "bytes that all batches of the device may hold together",
  },
  onOverBudget: {
    oneOf: ["throw", "shrink"],
    doc: "if the batch does not fit: refuse it (throw, by default), or take the largest count of worlds that does",
  },
  shards: { min: 1, max: 1024, integer: true, doc: "at least this many shards, of at least eight worlds each" },
  workgroupSize: {
    kind: described(`one of ${WORKGROUP_SIZES.join(", ")}`, oneOf(...WORKGROUP_SIZES)),
    doc: "worlds of a workgroup, by default 64 on a GPU whose subgroups are as large and 32 elsewhere; `corral tune` measures which is fastest",
  },
  privateArrays: {
    oneOf: ["separate", "merged"],
    doc: "arrays of a kernel that are indexed at run time: each its own, or all in one, by default on GPUs; `corral tune` measures which is faster",
  },
  mostLive: {
    min: LEAST_LIVE,
    max: MOST_LIVE,
    integer: true,
    doc: "values of a kernel that may live at once, about as many registers of a lane: others lie in private memory for their time; by default 270 on GPUs, of pieces two thirds of it, elsewhere any number; `corral tune` measures others",
  },
  cut: {
    kind: boolean,
    doc: "the kernel of a step in pieces that run one after the other, or whole; by default in pieces on GPUs whose lanes have no registers for all of it, and on SwiftShader where it compiles long, never as WebAssembly; `corral tune` measures which is faster",
  },
  threads: {
    min: 1,
    max: 256,
    integer: true,
    doc: "threads of the device wasm, by default one for each core (in workers 1), of environments and of their learner each; 1 steps and learns in the calling thread",
  },
} as const satisfies OptionTable;

/** Worlds of one model. */
export const BATCH_OPTIONS = {
  numEnvs: { min: 1, max: 2 ** 32, integer: true, doc: "worlds; has to be given", code: "bad-num-envs" },
  nconmax: {
    min: 1,
    max: 2 ** 20,
    integer: true,
    doc: "contacts that a world may have at once; by default all that its candidate pairs can make, at most 256, or what `<size nconmax>` says up to 512, or one and a half times those of its start",
  },
  limits: {
    kind: unchecked<JointLimits>("joints or patterns with their limits"),
    doc: 'ranges and speeds of joints beside the MJCF\'s, by name or pattern: `{ "hip_*": { range: [-1, 1], velocity: 20 } }`',
  },
  unroll: {
    kind: boolean,
    doc: "straight-line kernels (true), or smaller ones with loops; by default what compiles in time",
  },
  arithmetic: {
    oneOf: ARITHMETIC,
    doc: "what kernels compute in on wasm and cpu: by default float64 for models whose steps float32 loses (closed loops, light chains), else float32; what is read and written is float32. Adapters have float32 alone",
  },
  snapshotEvery: {
    min: 1,
    max: MAX_STEPS,
    integer: true,
    doc: "steps between two snapshots on the host, from which `restoreOn` goes on; by default none",
  },
  ...PLACEMENT_OPTIONS,
} as const satisfies OptionTable;

export const SIMULATION_OPTIONS = {
  ...BATCH_OPTIONS,
  outputs: {
    default: [],
    kind: described("a list of names of fields", list(unchecked<FieldName>("the name of a field"))),
    doc: 'derived fields that can be read after a step: `"xpos"`, `"sensordata"`, `"ncon"`, ...',
  },
  applied: { default: true, doc: "keep `qfrc_applied` and `xfrc_applied` of each world" },
  adjustable: {
    default: [],
    kind: described('a list such as ["actuator_forcerange[6]"]', list(text(64, ADJUSTABLE))),
    doc: 'numbers of actuators that `setOptions` changes between steps, of all worlds: `"actuator_forcerange[6]"`, `"actuator_biasprm[10]"`; such ranges bound also where the MJCF has none',
  },
} as const satisfies OptionTable;

export type PlacementOptions = Given<typeof PLACEMENT_OPTIONS>;

/** The count of worlds among options. Throws `bad-num-envs`. */
export function numEnvsOf(options: { readonly numEnvs?: unknown } | undefined): number {
  const row = BATCH_OPTIONS.numEnvs;
  if (options?.numEnvs === undefined)
    throw badOption("numEnvs", undefined, "it is the number of worlds: pass at least 1", row.code);
  return checked("numEnvs", kindOf(row), options.numEnvs, row.code);
}
