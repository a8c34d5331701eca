// many worlds of an environment, stepped together, with Gymnasium's vector contract. One kernel run and one read are one
// control step of all worlds. After construction nothing is allocated on the GPU, and nothing grows on the host.
import { INSPECT, type Inspect } from "../../core/inspect.ts";
import type { Plan } from "../../memory/plan.ts";
import type { Model } from "../../model/model.ts";
import type { DriftMonitor } from "../../monitor/drift.ts";
import type { Batch } from "../../batch/batch.ts";
import { CallMutex } from "../../core/call-mutex.ts";
import { fillIn, optionsOf, type OptionTable } from "../../core/options.ts";
import { SnapshotKeeper } from "../../batch/snapshot.ts";
import { paramChanges, type SimParams } from "../../batch/params.ts";
import { BatchedSpace } from "../space/batched-space.ts";
import { gpuViews, wasmViews, type ArenaView, type GpuViews, type WasmViews } from "./gpu-views.ts";
import { Exchange } from "./exchange.ts";
import type { StepResult } from "./step-result.ts";
import type { HostValues } from "../space/host-values.ts";
import type { Infos } from "./infos.ts";
import type { Autoreset, EnvSpec } from "../kernel/env-kernel.ts";
import { SNAPSHOT_ARENAS } from "../kernel/layout.ts";
import { worldIdsOf, type Settings } from "./options.ts";
import { checkReset, maskedFirst, type ResetOptions } from "./reset-request.ts";
import type { Floats } from "./results.ts";
import type { Part } from "../task/shape.ts";
import { Box, type Space } from "../space/spaces.ts";
import type { ParamValues, TaskParams } from "./task-params.ts";
import type { HealthReport } from "./health.ts";
import { printEnv } from "./printed.ts";
import { Stepper } from "./stepper.ts";
import { TimeTravel, type ForkOptions, type Progress, type VecSnapshot } from "./time-travel.ts";
import type { ObservationGroup } from "../task/observation-groups.ts";
import type { DeviceChoice } from "../../batch/devices.ts";
import type { AdapterInfo } from "../../gpu/device.ts";
import { Watch } from "./watch.ts";
import { WorldState, type StateValues } from "./world-state.ts";

export type { StepResult } from "./step-result.ts";
export type { VecSnapshot } from "./time-travel.ts";

const STEP_OPTIONS = { readback: { doc: "results come to the host", default: true } } as const satisfies OptionTable;

export class VectorEnv implements AsyncDisposable {
  readonly id: string;
  readonly numEnvs: number;
  readonly autoreset: Autoreset;
  readonly singleActionSpace: Space;
  readonly singleObservationSpace: Box;
  /** Where groups of observations lie in each row, that of the policy first; empty if the task has none. */
  readonly observationGroups: Readonly<Record<string, ObservationGroup>>;
  readonly actionSpace: BatchedSpace;
  readonly observationSpace: BatchedSpace<Box>;
  /** Stable id of each world. */
  readonly worldIds: readonly number[];
  /** Every byte that this environment holds. */
  readonly plan: Plan;
  /** Buffers on the GPU, or arenas of WebAssembly; undefined elsewhere. */
  readonly gpu: GpuViews | undefined;
  readonly wasm: WasmViews | undefined;

  /** The model with the options that were given, physics steps of a control step, and what kernels are specialised to. */
  readonly model: Model;
  readonly frameSkip: number;
  /** Control steps after which an episode is truncated; Infinity for no limit. */
  readonly maxEpisodeSteps: number;
  readonly spec: EnvSpec;
  readonly #batch: Batch;
  readonly #state: WorldState;
  readonly #exchange: Exchange;
  readonly #watch: Watch;
  readonly #mutex: CallMutex;
  readonly #params: TaskParams;
  readonly #travel: TimeTravel<VectorEnv>;
  readonly #progress: Progress = { steps: 0, wasReset: false };
  readonly #stepper: Stepper;

  constructor(
    spec: EnvSpec,
    batch: Batch,
    settings: Settings<object>,
    params: TaskParams,
    monitor: DriftMonitor | undefined,
    recreate: (changes: object) => Promise<VectorEnv>,
  ) {
    const { vec } = settings;
    this.spec = spec;
    this.model = spec.model;
    this.#batch = batch;
    this.plan = batch.planned.plan;
    this.id = spec.task.id;
    const mutex = (this.#mutex = new CallMutex(this.id));
    this.numEnvs = this.plan.numEnvs;
    this.autoreset = vec.autoreset;
    this.frameSkip = vec.frameSkip;
    this.maxEpisodeSteps = vec.maxEpisodeSteps;
    this.worldIds = worldIdsOf(vec, this.numEnvs);
    this.singleActionSpace = spec.action;
    this.singleObservationSpace = new Box({ low: -Infinity, high: Infinity, shape: [spec.shape.nobs] });
    this.observationGroups = spec.shape.groups;
    this.actionSpace = new BatchedSpace(spec.action, this.numEnvs);
    this.observationSpace = new BatchedSpace(this.singleObservationSpace, this.numEnvs);

    const exchange = (this.#exchange = new Exchange(spec, batch, vec, this.actionSpace, this.worldIds));
    const watch = (this.#watch = new Watch(spec, batch, settings, this.worldIds, monitor));
    this.#state = new WorldState(batch, spec.shape);
    this.gpu = gpuViews(batch, spec.shape.nobs, spec.action);
    this.wasm = wasmViews(batch, spec.shape.nobs, spec.action);
    this.#params = params;

    const kept = this.plan.arenas.map(({ name }) => name).filter((name) => SNAPSHOT_ARENAS.includes(name));
    const { snapshotEvery: every } = vec;
    const keeper = every === undefined ? undefined : new SnapshotKeeper(batch, kept, every);
    const progress = this.#progress;
    const { id, worldIds } = this;
    const shared = { id, progress, batch, keeper, exchange, watch };
    const stepper = (this.#stepper = new Stepper({ ...shared, spec }));
    const collect = () => stepper.read();
    const close = () => this.close();
    this.#travel = new TimeTravel({ ...shared, worldIds, mutex, kept, params, collect, close, again: recreate });
  }

  /** Results of the last call that read them; see `StepResult`. */
  get observations(): Floats {
    return this.#exchange.observations;
  }
  get rewards(): Floats {
    return this.#exchange.rewards;
  }
  get terminated(): Uint8Array {
    return this.#exchange.terminated;
  }
  get truncated(): Uint8Array {
    return this.#exchange.truncated;
  }
  get infos(): Infos {
    return this.#exchange.infos;
  }

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#mutex.isClosed;
  }

  /** Where it runs. */
  get deviceName(): string {
    return this.#batch.deviceName;
  }

  /** The adapter; undefined where no driver runs it. */
  get adapter(): AdapterInfo | undefined {
    return this.#batch.adapter;
  }

  /** Names of the terms of the reward, and of the parts of the observation with their sizes. */
  get terms(): { readonly rewards: readonly string[]; readonly observation: readonly Part[] } {
    return { rewards: this.spec.shape.terms, observation: this.spec.shape.observation };
  }

  /** Those of the kernels that run in pieces, for inspection. */
  get cuts(): Batch["planned"]["cuts"] {
    return this.#batch.planned.cuts;
  }

  /** The traced kernels, for inspection. */
  get kernels(): Batch["planned"]["kernels"] {
    return this.#batch.planned.kernels;
  }

  /**
   * Starts new episodes: in all worlds, or in those of a mask. The other rows of the results stay.
   * @throws CorralError closed, call-in-flight, bad-seed, bad-reset-mask, unknown-option, and for `params` what
   *   `setParams` throws; then nothing has changed
   */
  async reset(options: ResetOptions = {}): Promise<StepResult> {
    return this.#mutex.exclusive("reset", async () => {
      const request = checkReset(options, this.numEnvs);
      if (request.mask && !this.#progress.wasReset) throw maskedFirst(this.id);
      const worlds = request.mask && [...request.mask.keys()].filter((w) => request.mask![w]);
      this.#params.check(request.params, worlds);
      // all worlds are reset, so nothing is left of work that the device refused
      if (!request.mask) this.#batch.forgive();
      await this.#params.set(request.params, worlds);
      await this.#stepper.reset(request);
      return this.#stepper.read(true);
    });
  }

  /**
   * One control step of every world. `actions`: [numEnvs, ...action], row-major; or `env.gpu.actions` or
   * `env.wasm.actions`, for what another kernel has put there. With `readback: false` nothing comes back: results stay on the GPU until `read()`.
   * @throws CorralError bad-action, unknown-option, closed, call-in-flight, needs-reset, snapshot-failed: then no world
   *   was stepped; non-finite and overflow if the policies say "throw"
   */
  step(actions: HostValues | ArenaView, options: { readonly readback: false }): Promise<undefined>;
  step(actions: HostValues | ArenaView, options?: { readonly readback?: true }): Promise<StepResult>;
  async step(
    actions: HostValues | ArenaView,
    options: { readonly readback?: boolean } = {},
  ): Promise<StepResult | undefined> {
    const { readback } = fillIn(STEP_OPTIONS, optionsOf(options), { of: "a step" });
    return this.#mutex.exclusive("step", async () => {
      this.#stepper.assertSteppable();
      const isOnDevice = actions !== undefined && actions === (this.gpu ?? this.wasm)?.actions;
      if (!isOnDevice) {
        this.#exchange.takeActions(actions as HostValues);
        await this.#exchange.sendActions();
      }
      await this.#stepper.step();
      if (readback) return this.#stepper.read();
      return this.#stepper.keepPace();
    });
  }

  /**
   * Control steps in one submission, for policies that run on the GPU: `encode` is called at once, must not await, and
   * encodes into one compute pass. Its second argument encodes a control step of all worlds, which reads `gpu.actions`
   * and writes `gpu.observations` and the others; the caller's dispatches go before, between and after. Results stay on
   * the GPU until `read()`. Bits are those of as many calls of `step`. If several of these steps are due for the drift
   * monitor, only the last is compared.
   * @throws CorralError needs-gpu, pass-ended, closed, call-in-flight, needs-reset, snapshot-failed, what `encode` throws
   */
  async stepOnDevice(encode: (pass: GPUComputePassEncoder, step: () => void) => void): Promise<void> {
    return this.#mutex.exclusive("stepOnDevice", async () => {
      this.#stepper.assertSteppable();
      await this.#stepper.encode(encode);
      return this.#stepper.keepPace();
    });
  }

  /** Resolves when the device has made all steps so far; reads nothing. */
  sync(): Promise<void> {
    return this.#mutex.exclusive("sync", () => this.#stepper.sync());
  }

  /** Reads the results of the last step or reset. */
  async read(): Promise<StepResult> {
    return this.#mutex.exclusive("read", async () => {
      this.#stepper.assertWasReset();
      return this.#stepper.read();
    });
  }

  /** Reads the actions of the last step, or those that were put into `gpu.actions` since: [numEnvs, ...action]. */
  async readActions(): Promise<Float32Array | Int32Array> {
    return this.#mutex.exclusive("readActions", () => this.#exchange.readActions());
  }

  /** What went wrong in worlds so far: counts by status and by term, first and last occurrence, bundles. */
  health(): HealthReport {
    return this.#watch.health(this.#progress.steps);
  }

  /** Writes a bundle of some worlds as they are now. Returns its entry of `health`, or undefined if none was written. */
  record(worlds: readonly number[], reason: string): Promise<string | undefined> {
    return this.#mutex.exclusive("record", () => this.#watch.record(worlds, reason, this.#progress.steps));
  }

  /** Changes numbers that kernels take as parameters: timestep, gravity, tolerance, ls_tolerance. */
  setOptions(change: Partial<SimParams>): void {
    this.#mutex.assertOpen("setOptions");
    this.#watch.changed();
    for (const [name, value] of paramChanges(change, this.#batch.precision)) {
      this.#batch.setParam(name, value);
      if (name === "timestep") this.#batch.setParam("dt", value * this.frameSkip);
    }
  }

  /**
   * Sets parameters of the task, of all worlds or of chosen ones, from the next step or reset on: one value for all of
   * them, or one for each, row-major [worlds, size].
   * @throws CorralError unknown-param, bad-shape, bad-value, bad-world; then nothing has changed
   */
  async setParams(values: ParamValues, worlds?: readonly number[]): Promise<void> {
    await this.#mutex.exclusive("setParams", async () => {
      this.#params.check(values, worlds);
      await this.#params.set(values, worlds);
      this.#watch.changed();
    });
  }

  /** A parameter of the task, [numEnvs, size]. Throws unknown-param. */
  getParam(name: string): Float64Array {
    return this.#params.get(name);
  }

  /**
   * Sets the state of all worlds or of chosen ones, by name: qpos, qvel, act, time, qacc_warmstart, what the task
   * carries, episode_length, episode_return. Values are row-major [worlds, size]. Observations follow with the next step.
   * @throws CorralError unknown-field, bad-shape, bad-value, bad-world; then nothing has changed
   */
  async setState(values: StateValues, worlds?: readonly number[]): Promise<void> {
    await this.#mutex.exclusive("setState", () => this.#state.set(values, worlds));
    this.#watch.changed();
  }

  /** Names that `getState` and `setState` take: the physics, what was randomised, and what the task keeps. */
  get stateNames(): readonly string[] {
    return this.#state.names;
  }

  /** Reads what `setState` sets, and `episode`, of all worlds or of chosen ones, after all steps so far. */
  async getState<N extends string>(names: readonly N[], worlds?: readonly number[]): Promise<Record<N, Float64Array>> {
    return this.#mutex.exclusive("getState", () => this.#state.get(names, worlds));
  }

  /** Control steps of the batch so far; a snapshot that is put back sets it. */
  get steps(): number {
    return this.#progress.steps;
  }

  /** The last complete snapshot of `snapshotEvery`; also after the device was lost, and after `close`. */
  get lastSnapshot(): VecSnapshot | undefined {
    return this.#travel.lastSnapshot;
  }

  /** Copies to the host all that the future depends on, and the last results. */
  snapshot(): Promise<VecSnapshot> {
    return this.#travel.snapshot();
  }

  /**
   * Puts a snapshot back and returns the results it was taken with: bit for bit on the same kind of device, whatever the
   * shards.
   * @throws CorralError bad-snapshot if it is of another environment, of other options or count of worlds; then
   *   nothing has changed
   */
  restore(snapshot: VecSnapshot): Promise<StepResult> {
    return this.#travel.restore(snapshot);
  }

  /**
   * Goes back to a recorded control step, on the device: from the state before it, with the actions that were recorded.
   * What was recorded after it is forgotten. Returns the results of that step, bit for bit.
   * @throws CorralError not-recorded, with the steps that are; then nothing has changed
   */
  seek(step: number): Promise<StepResult> {
    return this.#travel.seek(step);
  }

  /**
   * The same worlds on another device, going on from a snapshot; this environment is closed. By default on the process's
   * shared device, which is a new one if the last was lost, and from the last snapshot. The new one has the results
   * of the snapshot; on the same kind of device the worlds go on bit for bit.
   * @throws CorralError no-snapshot, bad-snapshot; what makeVec throws: then this one is left as it is
   */
  restoreOn(device?: DeviceChoice, snapshot?: VecSnapshot): Promise<VectorEnv> {
    return this.#travel.restoreOn(device, snapshot);
  }

  /**
   * Another environment with `times` copies of each of some worlds, by id: many continuations of one state. The first
   * copy of a world is that world and goes on bit for bit; the others draw their next episodes as worlds of their own.
   * This environment goes on too. Close the fork like any other. It has the recorder of this environment, of all worlds,
   * unless `recorder` says otherwise.
   * @throws CorralError bad-world, bad-option; what makeVec throws
   */
  fork(worldIds: readonly number[], times?: number, options?: ForkOptions): Promise<VectorEnv> {
    return this.#travel.fork(worldIds, times, options);
  }

  /** One world, by id, in a batch of its own; its future has the same bits. Throws as `fork`. */
  extract(worldId: number, options?: ForkOptions): Promise<VectorEnv> {
    return this.#travel.fork([worldId], 1, options);
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printEnv(this, this.#progress.steps, options, inspect);
  }

  /** Gives all memory back, once the call in flight and reads have completed. Calling it again returns the same promise. */
  close(): Promise<void> {
    return this.#mutex.close(async () => {
      this.#watch.close();
      await this.#batch.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
