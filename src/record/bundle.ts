// bundles: all that it takes to execute the last steps of some worlds again, on another machine and without the task; read-bundle.ts reads them
import { CorralError } from "../core/errors.ts";
import { inLine, show } from "../core/show.ts";
import { gzip, sha256 } from "../core/packing.ts";
import { corralVersion, packageVersion, runtime } from "../core/version.ts";
import { packZip } from "../model/zip-stream.ts";
import type { AdapterInfo } from "../gpu/device.ts";
import type { ArenaRequest } from "../memory/request.ts";
import type { ModelChange } from "../model/model-data.ts";
import type { Model } from "../model/model.ts";
import type { Batch, BatchParam } from "../batch/batch.ts";
import type { Arithmetic } from "../batch/kernel/arithmetic.ts";
import type { CutKernel } from "../batch/kernel/cuts.ts";
import { storeTrace } from "../trace/store.ts";
import type { Trace } from "../trace/graph.ts";
import type { WgslForm, WgslKernel } from "../trace/wgsl.ts";
import { pack } from "./pack.ts";
import type { Recording } from "./recorder.ts";
import { seal } from "./seal.ts";
import { writeSealed } from "./sealed.ts";
import type { RecorderSettings } from "./options.ts";

/** A world that tripped the recorder. */
export interface TrippedWorld {
  readonly world: number;
  readonly id: number;
  /** Names of the bits of its status word. */
  readonly names: readonly string[];
  /** Terms of the reward and parts of the observation that were not finite. */
  readonly terms: readonly string[];
  /** Control step of the batch in which it failed, counted from 1. */
  readonly step: number;
}

/** What the environment was, in plain data. */
export interface EnvFacts {
  readonly id: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly numEnvs: number;
  readonly seed: number | bigint;
  readonly autoreset: string;
  readonly frameSkip: number;
  /** Null for no limit. */
  readonly maxEpisodeSteps: number | null;
  readonly nconmax: number;
  readonly unroll: boolean;
  readonly onNonFinite: string;
  readonly onOverflow: string;
  readonly finite: { readonly observation: number; readonly reward: number };
  readonly actionSize: number;
  readonly actionKind: "box" | "discrete";
  /** Bounds of actions. */
  readonly actionLow?: readonly number[];
  readonly actionHigh?: readonly number[];
  readonly rewards: readonly string[];
  readonly observation: readonly { readonly name: string; readonly size: number }[];
  readonly trips: readonly string[];
  /** Numbers of the model that are randomised per world, in the order of the field `per_world`. */
  readonly own?: readonly Omit<ModelChange, "value">[];
  /** Actuators that do more than the MJCF says: MuJoCo beside them would not do the same. */
  readonly actuators?: readonly string[];
  /** Where named numbers lie in a world's result. */
  readonly result: Readonly<Record<string, number>>;
}

/** Where it ran. */
export interface DeviceFacts {
  readonly name: string;
  /** How it computed: "gpu", or in JavaScript "f32" or "f64". */
  readonly precision: "gpu" | "f32" | "f64";
  readonly adapter: AdapterInfo | null;
}

export interface Versions {
  readonly corral: string;
  readonly mujoco: string;
  readonly webgpu: string;
  readonly node: string;
  readonly platform: string;
}

export interface BundleAbout extends Versions {
  readonly created: string;
  readonly message: string;
  readonly env: EnvFacts;
  readonly device: DeviceFacts;
  readonly worlds: readonly { readonly world: number; readonly id: number }[];
  readonly tripped: readonly TrippedWorld[];
  /** The first recorded control step, and the last: the recording holds the steps after the one, up to the other. */
  readonly steps: { readonly first: number; readonly last: number };
  readonly batch: {
    readonly name: string;
    readonly arenas: readonly ArenaRequest[];
    readonly params: readonly BatchParam[];
    readonly kernel: Pick<WgslKernel, "buffers" | "params"> & Partial<WgslForm>;
    /** Where the step was cut into pieces: the stages that pieces begin with, and the SHA-256 of all pieces. Absent: whole. */
    readonly cut?: { readonly stages: readonly string[]; readonly pieces: string };
  };
  /** SHA-256 of the WGSL of the step kernel; of its program where it ran as JavaScript. */
  readonly shader: string;
  readonly program: string;
  readonly model: { readonly file: string; readonly name: string };
}

export interface Bundle {
  readonly path: string;
  readonly about: BundleAbout;
  readonly model: Model;
  readonly kernel: WgslKernel;
  /** The pieces that this corral makes of the program where it was recorded in pieces. */
  readonly cut: CutKernel | undefined;
  readonly trace: Trace;
  readonly recording: Recording;
}

/** What the kernel of a bundle computes in on the CPU. */
export const arithmeticOf = ({ about, trace }: Bundle): Arithmetic =>
  about.device.precision === "f64" || trace.wide ? "float64" : "float32";

/**
 * Says what a bundle is that was not read.
 * @throws CorralError no-bundle
 */
export function assertBundle(bundle: unknown): asserts bundle is Bundle {
  const { about, recording, trace } = Object(bundle) as Partial<Bundle>;
  if (typeof about === "object" && typeof recording === "object" && typeof trace === "object") return;
  const what =
    typeof bundle === "string" || bundle instanceof URL
      ? "a path: pass readBundle(it)"
      : `${show(bundle)}: pass what readBundle returns`;
  throw new CorralError("no-bundle", `the bundle is ${what}.`);
}

/** Versions of what runs here. */
export const versions = (): Versions => ({
  corral: corralVersion(),
  mujoco: packageVersion("@mujoco/mujoco"),
  webgpu: packageVersion("webgpu"),
  ...runtime(),
});

/** Hashes that identify a step kernel: of its text, and of the program it was emitted from. */
export function kernelHashes(kernel: WgslKernel, program: Uint8Array, precision: DeviceFacts["precision"]) {
  const hash = sha256(program);
  if (precision !== "gpu") return { shader: hash, program: hash };
  const tables = [kernel.tables.f32, kernel.tables.i32].flatMap((t) => (t ? [new Uint8Array(t.buffer)] : []));
  return { shader: sha256(kernel.code, ...tables), program: hash };
}

/** A hash that identifies the pieces of a kernel, their order included. */
export function piecesHash({ pieces, turns }: CutKernel): string {
  const nothing = new Uint8Array();
  return sha256(JSON.stringify([turns, pieces.map(({ kernel }) => kernelHashes(kernel, nothing, "gpu").shader)]));
}

export const programOf = (trace: Trace): Uint8Array => pack(storeTrace(trace));

/** What a bundle is made of. */
export interface BundleParts {
  readonly batch: Batch;
  readonly model: Model;
  readonly env: EnvFacts;
  readonly precision: DeviceFacts["precision"];
  readonly message: string;
  /** Ids of all worlds of the batch. */
  readonly worldIds: readonly number[];
  readonly tripped: readonly TrippedWorld[];
  readonly recording: Recording;
}

/**
 * Writes a bundle into a folder, or gives it to `save` as a zip. Returns its path, or the name of the zip.
 * @throws CorralError bundle-too-large, bundle-not-written
 */
export async function writeBundle(
  { directory, maxBytes, save }: Pick<RecorderSettings, "directory" | "maxBytes" | "save">,
  name: string,
  { batch, model, env, precision, message, worldIds, tripped, recording }: BundleParts,
): Promise<string> {
  const { spec, traces, kernels, cuts } = batch.planned;
  const [trace, kernel] = [traces.get("step")!, kernels.get("step")!];
  const cut = cuts.get("step");
  const program = programOf(trace);
  const { source, ...compiled } = model;
  const files = new Map<string, Uint8Array>();
  files.set("records.json.gz", await gzip(pack(recording)));
  files.set("program.json.gz", await gzip(program));
  files.set("tables.json", pack(kernel.tables));
  if (precision === "gpu") files.set("step.wgsl", new TextEncoder().encode(kernel.code));
  files.set("model.json.gz", await gzip(pack(compiled)));
  files.set(`mjcf/${source.file}`, new TextEncoder().encode(source.xml));
  for (const [path, bytes] of Object.entries(source.assets)) files.set(`mjcf/${path}`, bytes);

  const { segments } = recording;
  const last = segments[segments.length - 1];
  const { unroll: _, ...form } = kernel.form;
  const about: BundleAbout = {
    ...versions(),
    created: new Date().toISOString(),
    message,
    env,
    device: { name: batch.deviceName, precision, adapter: batch.adapter ?? null },
    worlds: recording.worlds.map((world) => ({ world, id: worldIds[world] })),
    tripped,
    steps: { first: segments[0].start, last: last.start + last.steps },
    batch: {
      name: spec.name,
      // what the recorder and snapshots keep is no part of a step
      arenas: spec.arenas.filter(({ access, fields }) => access.startsWith("read") && fields[0].group !== "record"),
      params: spec.params,
      kernel: { buffers: kernel.buffers, ...form, params: kernel.params },
      ...(cut && { cut: { stages: cut.marks, pieces: piecesHash(cut) } }),
    },
    ...kernelHashes(kernel, program, precision),
    model: { file: source.file, name: model.name },
  };
  const facts = about as unknown as Record<string, unknown>;
  if (save === undefined) return writeSealed(directory, name, facts, files, maxBytes);
  const zip = await packZip(Object.fromEntries(seal(name, facts, files, maxBytes)));
  try {
    await save(`${name}.zip`, zip);
  } catch (cause) {
    const why = inLine(cause instanceof Error ? cause.message : String(cause));
    const text = `the bundle ${name} was not saved: recorder.save threw "${why}". Mend it, or leave it out.`;
    throw new CorralError("bundle-not-written", text, { name }, { cause });
  }
  return `${name}.zip`;
}
