// what learners use of environments: corral's own have it, and the user's get it from `js-vec.ts`
import type { ArenaView, GpuViews, WasmViews } from "../../env/host/gpu-views.ts";
import type { Floats } from "../../env/host/results.ts";
import type { VecSnapshot, VectorEnv } from "../../env/host/vector-env.ts";

/** What a learner is planned by: environments, or ones that are only planned themselves. */
export interface PlannedEnv extends Pick<VectorEnv, "id" | "numEnvs" | "autoreset" | "singleActionSpace"> {
  readonly singleObservationSpace: { readonly size: number };
  readonly observationGroups: VectorEnv["observationGroups"];
}

/** The worlds of an environment in JavaScript between two steps. */
export interface JsSnapshot {
  /** What lies in the arenas. */
  readonly words: Uint32Array<ArrayBuffer>;
  readonly wasReset: boolean;
  /** What the environment saved, as JSON. */
  readonly saved: string;
}

export type EnvSnapshot = VecSnapshot | JsSnapshot;

/** What a step or a reset returns; the arrays are the environment's own. */
export interface LearnerStep {
  readonly observations: Floats;
  readonly rewards: Floats;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly infos: {
    /** Returns and lengths of the episodes that ended in this call; undefined if none did. */
    readonly episode: { readonly r: Floats; readonly l: Uint32Array; readonly mask: Uint8Array } | undefined;
    status(world: number): number;
    /** Numbers that the task reports, by name; environments in JavaScript report none. */
    get(name: string): { readonly values: Floats } | undefined;
  };
}

/** [numEnvs, ...action], row-major. */
export type Actions = Float32Array | Int32Array | readonly number[];

/** Environments as a learner steps them. */
export interface LearnerEnv
  extends PlannedEnv, Pick<VectorEnv, "worldIds" | "maxEpisodeSteps" | "deviceName" | "observations">, AsyncDisposable {
  /** Whether it was closed; the user's own do not say. */
  readonly closed?: boolean;
  readonly gpu: GpuViews | undefined;
  readonly wasm: WasmViews | undefined;
  reset(options?: { readonly seed?: number | bigint }): Promise<LearnerStep>;
  step(actions: ArenaView | Actions, options: { readonly readback: false }): Promise<undefined>;
  step(actions: ArenaView | Actions): Promise<LearnerStep>;
  stepOnDevice: VectorEnv["stepOnDevice"];
  /** Reads the last results, and has a recorder look at worlds that failed since; environments in JavaScript have none. */
  read?(): Promise<unknown>;
  readActions(): Promise<Float32Array | Int32Array>;
  snapshot(): Promise<EnvSnapshot>;
  restore(snapshot: EnvSnapshot): Promise<unknown>;
  close(): Promise<void>;
}
