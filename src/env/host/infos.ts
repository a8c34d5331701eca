// infos: what a step reports in addition to observation, reward and flags; computed on access
import { CorralError } from "../../core/errors.ts";
import { INSPECT, type Inspect, printFacts } from "../../core/inspect.ts";
import { alternatives } from "../../core/names.ts";
import { inLine } from "../../core/show.ts";
import { assertWorld } from "../../memory/shards.ts";
import type { DriftSample } from "../../monitor/drift.ts";
import { statusNames, type StatusName } from "../../physics/status.ts";
import { RESULT, resultOffsets } from "../kernel/layout.ts";
import { floats, type Floats, type HostRows } from "./results.ts";
import type { TaskShape } from "../task/shape.ts";

/** A number of each world, and which worlds have it; the others hold 0. */
export interface InfoColumn {
  readonly values: Floats;
  readonly mask: Uint8Array;
}

/** The episodes that ended in this call: return, length, and the sum of each term of the reward; 0 elsewhere. */
export interface EpisodeInfo {
  readonly r: Floats;
  readonly l: Uint32Array;
  readonly terms: { readonly [name: string]: Floats };
  readonly mask: Uint8Array;
}

/** The last observations of the episodes that ended in this call, [numEnvs, ...]; zeros elsewhere. */
export interface FinalObservations {
  readonly values: Floats;
  readonly mask: Uint8Array;
}

/** The rows that infos are made of, and what this call was. */
export interface InfoSource {
  readonly result: HostRows;
  readonly finalObs: HostRows | undefined;
  readonly shape: TaskShape;
  /** Worlds that a masked `reset` touched; undefined for all worlds. */
  touched: Uint8Array | undefined;
  call: "reset" | "step";
  /** Checks of the drift monitor in this call. */
  readonly drift?: readonly DriftSample[];
}

/** What a world's numbers are of. */
const KIND = { none: 0, step: 1, reset: 2 } as const;

/**
 * Infos of one call, by Gymnasium's names: the terms of the reward, the task's own numbers, `episode`, `final_obs`,
 * `final_info`, and the status of every world. They read the arrays of the environment, so they hold until its next
 * call; take copies of what is to last.
 */
export class Infos {
  readonly #source: InfoSource;
  /** Those of the steps that ended episodes, rather than of the call. */
  readonly #final: boolean;
  readonly #cache = new Map<string, InfoColumn | undefined>();
  #kindsFound: Uint8Array | undefined;

  constructor(source: InfoSource, final = false) {
    this.#source = source;
    this.#final = final;
  }

  #word(world: number, word: number): number {
    const { data, stride } = this.#source.result;
    return data[world * stride + word];
  }

  /** Of each world whether its numbers here are those of a step, of a reset, or none. */
  get #kinds(): Uint8Array {
    return (this.#kindsFound ??= this.#findKinds());
  }

  #findKinds(): Uint8Array {
    const { touched } = this.#source;
    const { data, stride, numEnvs } = this.#source.result;
    const ended = this.#final ? this.#ended() : undefined;
    const kinds = new Uint8Array(numEnvs);
    for (let world = 0, at = RESULT.reset; world < numEnvs; world++, at += stride) {
      if (touched?.[world] === 0) continue;
      if (this.#final) kinds[world] = ended?.[world] === 1 ? KIND.step : KIND.none;
      else kinds[world] = data[at] > 0 ? KIND.reset : KIND.step;
    }
    return kinds;
  }

  get #numEnvs(): number {
    return this.#source.result.numEnvs;
  }

  /** Names of all numbers that some world has in this call. */
  names(): string[] {
    return this.#known().filter((name) => this.get(name) !== undefined);
  }

  #known(): string[] {
    const { terms, infos, resetInfos } = this.#source.shape;
    return [...new Set([...terms, ...infos, ...resetInfos])];
  }

  /** Whether the task reports numbers of a name, in some call. */
  has(name: string): boolean {
    return this.#known().includes(name);
  }

  #assertKnown(name: string): void {
    if (this.has(name)) return;
    const known = this.#known();
    const { hint, nearest } = alternatives(name, known);
    throw new CorralError("unknown-name", `the task reports no number named "${inLine(name)}"; ${hint}.`, {
      name,
      nearest,
    });
  }

  /**
   * The numbers of a name with their mask; undefined if no world has any in this call.
   * @throws CorralError unknown-name with the nearest names, if the task reports nothing of the name
   */
  get(name: string): InfoColumn | undefined {
    if (!this.#cache.has(name)) {
      this.#assertKnown(name);
      this.#cache.set(name, this.#column(name));
    }
    return this.#cache.get(name);
  }

  #column(name: string): InfoColumn | undefined {
    const { shape, result } = this.#source;
    const offsets = resultOffsets(shape);
    const step = [...shape.terms, ...shape.infos].indexOf(name);
    const reset = shape.resetInfos.indexOf(name);
    const at = [-1, step < 0 ? -1 : offsets.terms + step, reset < 0 ? -1 : offsets.resetInfos + reset];
    const { data, stride, numEnvs } = result;
    const kinds = this.#kinds;
    const values = floats(numEnvs, data instanceof Float64Array);
    const mask = new Uint8Array(numEnvs);
    let some = false;
    for (let world = 0, row = 0; world < numEnvs; world++, row += stride) {
      const word = at[kinds[world]];
      if (word < 0) continue;
      values[world] = data[row + word];
      mask[world] = 1;
      some = true;
    }
    return some ? { values, mask } : undefined;
  }

  #ended(): Uint8Array | undefined {
    if (this.#source.call !== "step") return undefined;
    const { data, stride, numEnvs } = this.#source.result;
    const mask = new Uint8Array(numEnvs);
    let some = false;
    for (let world = 0, row = 0; world < numEnvs; world++, row += stride) {
      if (data[row + RESULT.terminated] + data[row + RESULT.truncated] === 0) continue;
      mask[world] = 1;
      some = true;
    }
    return some ? mask : undefined;
  }

  /** Return, length and terms of the episodes that ended in this call; undefined if none did. */
  get episode(): EpisodeInfo | undefined {
    const mask = this.#ended();
    if (!mask || this.#final) return undefined;
    const { shape, result } = this.#source;
    const { sums } = resultOffsets(shape);
    const column = () => floats(this.#numEnvs, result.data instanceof Float64Array);
    const r = column();
    const l = new Uint32Array(this.#numEnvs);
    const terms = Object.fromEntries(shape.terms.map((name) => [name, column()]));
    mask.forEach((ended, world) => {
      if (!ended) return;
      r[world] = this.#word(world, RESULT.episode_return);
      l[world] = this.#word(world, RESULT.episode_length);
      shape.terms.forEach((name, i) => {
        terms[name][world] = this.#word(world, sums + i);
      });
    });
    return { r, l, terms, mask };
  }

  /** Same-step autoreset: the last observations of the episodes that ended; undefined if none did. */
  get final_obs(): FinalObservations | undefined {
    const { finalObs } = this.#source;
    const mask = finalObs && !this.#final ? this.#ended() : undefined;
    if (!finalObs || !mask) return undefined;
    const { used, stride, data } = finalObs;
    const values = floats(this.#numEnvs * used, data instanceof Float64Array);
    mask.forEach((ended, world) => {
      if (ended) values.set(data.subarray(world * stride, world * stride + used), world * used);
    });
    return { values, mask };
  }

  /** Same-step autoreset: the infos of the steps that ended episodes; undefined if none did. */
  get final_info(): Infos | undefined {
    return this.#source.finalObs && !this.#final && this.#ended() ? new Infos(this.#source, true) : undefined;
  }

  /** Errors of the monitored worlds against MuJoCo in this step; undefined if none was checked. */
  get drift(): readonly DriftSample[] | undefined {
    return this.#source.drift;
  }

  /**
   * The status word of a world: what went wrong in this step or reset, one bit each.
   * @throws CorralError bad-world
   */
  status(world: number): number {
    assertWorld(world, this.#numEnvs);
    return this.#source.touched?.[world] === 0 ? 0 : this.#word(world, RESULT.status);
  }

  /** Names of the bits set in a world's status word. Throws as `status` does. */
  statusNames(world: number): StatusName[] {
    return statusNames(this.status(world));
  }

  /** Worlds whose status word has one of these bits (all bits by default). */
  worldsWithStatus(bits = 0xffffffff): number[] {
    const { data, stride, numEnvs } = this.#source.result;
    const out: number[] = [];
    for (let world = 0, at = RESULT.status; world < numEnvs; world++, at += stride)
      if (data[at] & bits && this.status(world) & bits) out.push(world);
    return out;
  }

  /**
   * The conditions that held at the end of a world's step: the task's names, and "max_episode_steps".
   * @throws CorralError bad-world
   */
  endedBy(world: number): string[] {
    assertWorld(world, this.#numEnvs);
    const bits = this.#source.call === "step" ? this.#word(world, RESULT.ended_by) : 0;
    const { terminations, truncations } = this.#source.shape;
    return [...terminations, ...truncations].filter((_, i) => Math.floor(bits / 2 ** i) % 2 === 1);
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printFacts("Infos", this.#facts(), options, inspect);
  }

  /** What a call reports, by name: the numbers of all worlds, and which worlds have a status word. */
  #facts(): object {
    const columns = this.names().map((name) => [name, this.get(name)!.values]);
    const { episode, final_obs, final_info, drift } = this;
    const status: Record<string, number[]> = {};
    for (const world of this.worldsWithStatus())
      for (const name of this.statusNames(world)) (status[name] ??= []).push(world);
    const some = Object.keys(status).length > 0;
    return { ...Object.fromEntries(columns), episode, final_obs, final_info, drift, ...(some ? { status } : {}) };
  }
}
