// what passes between the host and the worlds of an environment: actions and requests go in, results come back
import type { Plan } from "../../memory/plan.ts";
import type { DriftSample } from "../../monitor/drift.ts";
import { hostRecords, type Batch, type BatchRegion, type HostRecords } from "../../batch/batch.ts";
import type { BatchedSpace } from "../space/batched-space.ts";
import { throwIfFailed } from "./failure.ts";
import type { HostValues } from "../space/host-values.ts";
import { Infos, type InfoSource } from "./infos.ts";
import type { EnvSpec } from "../kernel/env-kernel.ts";
import { Ask, REQUEST_WORDS, RESULT, resultOffsets } from "../kernel/layout.ts";
import { statusMasks, type Settings } from "./options.ts";
import type { ResetRequest } from "./reset-request.ts";
import { floats, HostRows, type Floats } from "./results.ts";
import type { StepResult } from "./step-result.ts";

export class Exchange {
  /** Results of the last call that read them; see `StepResult`. */
  observations: Floats;
  rewards: Floats;
  terminated: Uint8Array;
  truncated: Uint8Array;
  infos: Infos;

  readonly #spec: EnvSpec;
  readonly #batch: Batch;
  readonly #plan: Plan;
  readonly #actionSpace: BatchedSpace;
  readonly #worldIds: readonly number[];
  readonly #copy: boolean;
  readonly #throws: number;
  readonly #double: boolean;
  readonly #obs: HostRows;
  readonly #result: HostRows;
  readonly #finalObs: HostRows | undefined;
  readonly #reads: readonly BatchRegion[];
  readonly #actionValues: Float32Array | Int32Array;
  readonly #actionRecords: readonly HostRecords[];
  readonly #requestRecords: readonly HostRecords[];
  /** What the last unread call was. */
  #source: InfoSource;

  constructor(
    spec: EnvSpec,
    batch: Batch,
    vec: Settings<object>["vec"],
    actionSpace: BatchedSpace,
    worldIds: readonly number[],
  ) {
    const { plan } = batch.planned;
    const { numEnvs } = plan;
    const double = vec.device === "cpu-f64";
    this.#spec = spec;
    this.#batch = batch;
    this.#plan = plan;
    this.#actionSpace = actionSpace;
    this.#worldIds = worldIds;
    this.#copy = vec.copy;
    this.#throws = statusMasks(vec).throws;
    this.#double = double;
    this.#obs = new HostRows(plan, "obs", spec.shape.nobs, double);
    this.#result = new HostRows(plan, "result", resultOffsets(spec.shape).words, double);
    this.#finalObs =
      vec.autoreset === "same-step" ? new HostRows(plan, "final_obs", spec.shape.nobs, double) : undefined;
    this.#reads = [...this.#obs.regions, ...this.#result.regions];
    this.#actionValues =
      spec.action.kind === "box" ? new Float32Array(actionSpace.size) : new Int32Array(actionSpace.size);
    this.#actionRecords = this.#recordsOf("action");
    this.#requestRecords = this.#recordsOf("request");

    this.observations = this.#obs.stride === this.#obs.used ? this.#obs.data : floats(numEnvs * this.#obs.used, double);
    this.rewards = floats(numEnvs, double);
    this.terminated = new Uint8Array(numEnvs);
    this.truncated = new Uint8Array(numEnvs);
    this.#source = this.#sourceOf("reset");
    this.infos = new Infos(this.#source);
  }

  #recordsOf(arena: string): HostRecords[] {
    const { bytesPerWorld } = this.#plan.arenas.find((a) => a.name === arena)!;
    return this.#plan.shards.map(({ paddedWorlds }) =>
      hostRecords((bytesPerWorld / 4) * paddedWorlds, this.#batch.doubles),
    );
  }

  #sourceOf(call: "reset" | "step", touched?: Uint8Array): InfoSource {
    return { result: this.#result, finalObs: this.#finalObs, shape: this.#spec.shape, touched, call };
  }

  /** Says which call the results that `collect` reads next are of; `touched`: the worlds of a masked reset. */
  expect(call: "reset" | "step", touched?: Uint8Array, drift?: readonly DriftSample[]): void {
    this.#source = { ...this.#sourceOf(call, touched), ...(drift ? { drift } : {}) };
  }

  /** The first world whose episode is over by the last results, or -1. */
  firstOver(): number {
    return this.terminated.findIndex((t, world) => t + this.truncated[world] > 0);
  }

  /** @throws CorralError bad-action; then nothing has changed */
  takeActions(actions: HostValues): void {
    this.#actionSpace.write(actions, this.#actionValues);
  }

  /** Writes what `takeActions` took. */
  async sendActions(): Promise<void> {
    const size = this.#actionSpace.size / this.#plan.numEnvs;
    const stride = this.#actionRecords[0].f32.length / this.#plan.shards[0].paddedWorlds;
    const isFloat = this.#spec.action.kind === "box";
    for (const { index, firstWorld, worlds } of this.#plan.shards) {
      const records = this.#actionRecords[index];
      const into = isFloat ? records.f32 : records.u32;
      for (let local = 0; local < worlds; local++) {
        const from = (firstWorld + local) * size;
        for (let i = 0; i < size; i++) into[local * stride + i] = this.#actionValues[from + i];
      }
      await this.#batch.write("action", index, records);
    }
  }

  /** Reads the actions that lie on the device, as `takeActions` takes them. */
  async readActions(): Promise<Float32Array | Int32Array> {
    const { shards } = this.#plan;
    const isFloat = this.#spec.action.kind === "box";
    await this.#batch.readInto(
      shards.map(({ index }) => ({ arena: "action", shard: index, into: this.#actionRecords[index].f32 })),
    );
    const size = this.#actionSpace.size / this.#plan.numEnvs;
    const stride = this.#actionRecords[0].f32.length / shards[0].paddedWorlds;
    const actions = isFloat ? new Float32Array(this.#actionSpace.size) : new Int32Array(this.#actionSpace.size);
    for (const { index, firstWorld, worlds } of shards) {
      const from = isFloat ? this.#actionRecords[index].f32 : this.#actionRecords[index].u32;
      for (let local = 0; local < worlds; local++) {
        for (let i = 0; i < size; i++) actions[(firstWorld + local) * size + i] = from[local * stride + i];
      }
    }
    return actions;
  }

  /** Asks for new episodes. */
  async sendRequests({ mask, keyOf }: ResetRequest): Promise<void> {
    for (const { index, firstWorld, worlds } of this.#plan.shards) {
      const { u32 } = this.#requestRecords[index];
      u32.fill(0);
      for (let local = 0; local < worlds; local++) {
        const world = firstWorld + local;
        if (mask && !mask[world]) continue;
        const at = local * REQUEST_WORDS;
        const key = keyOf(world);
        u32[at] = key ? Ask.reset | Ask.seed : Ask.reset;
        if (key) [u32[at + 1], u32[at + 2]] = key;
      }
      await this.#batch.write("request", index, this.#requestRecords[index]);
    }
  }

  /**
   * One round trip: observations and results of all shards; then what users read of them. `look` looks at the results
   * before a failure is thrown.
   * @throws CorralError non-finite and overflow if the policies say "throw"
   */
  async collect(look: (result: HostRows, infos: Infos) => Promise<void>): Promise<StepResult> {
    await this.#batch.readInto(this.#reads);
    if (this.#copy) this.#renew();
    if (this.observations !== this.#obs.data) this.#obs.compact(this.observations);
    this.#result.column(RESULT.reward, this.rewards);
    this.#result.column(RESULT.terminated, this.terminated);
    this.#result.column(RESULT.truncated, this.truncated);
    if (this.#finalObs && this.#source.call === "step" && this.terminated.some((t, w) => t + this.truncated[w] > 0)) {
      await this.#batch.readInto(this.#finalObs.regions);
    }
    this.infos = new Infos(this.#source);
    await look(this.#result, this.infos);
    if (this.#throws !== 0) this.#assertStatus();
    const { observations, rewards, terminated, truncated, infos } = this;
    return { observations, rewards, terminated, truncated, infos };
  }

  #renew(): void {
    this.observations = floats(this.#plan.numEnvs * this.#obs.used, this.#double);
    this.rewards = floats(this.#plan.numEnvs, this.#double);
    this.terminated = new Uint8Array(this.#plan.numEnvs);
    this.truncated = new Uint8Array(this.#plan.numEnvs);
  }

  #assertStatus(): void {
    const { infos } = this;
    const [throws, worldIds, spec] = [this.#throws, this.#worldIds, this.#spec];
    const step = (world: number) => this.#result.data[world * this.#result.stride + RESULT.episode_length];
    throwIfFailed({ infos, throws, worldIds, step, nconmax: spec.nconmax });
  }
}
