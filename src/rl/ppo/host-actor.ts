// a policy of PPO on the CPU: what act_gaussian.wgsl and act_categorical.wgsl draw, with the same numbers but for rounding
import { CorralError } from "../../core/errors.ts";
import type { PhiloxKey } from "../../core/rng.ts";
import type { Space } from "../../env/space/spaces.ts";
import type { LearnerShape } from "./arenas.ts";
import type { PpoConfig } from "./config.ts";
import {
  ActionDraws,
  between,
  forward,
  HostActor,
  rowsFor,
  squashedFloats,
  type HostPolicy,
  type SquashedSpec,
  type TwoRows,
} from "../networks/host-actor.ts";
import type { Layer } from "../networks/networks.ts";

/** What stays the same while the parameters change; plain data, for worker threads. Its parameters are followed by the normaliser. */
export interface PpoActorSpec {
  readonly head: "gaussian" | "categorical";
  readonly policy: readonly Layer[];
  readonly value: readonly Layer[];
  readonly actions: number;
  /** Of each choice, and the smallest action. */
  readonly alternatives: readonly number[];
  readonly start: number;
  /** Bounds of the actions that environments take, and whether actions are squashed into them. */
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly squash: boolean;
  readonly minLogStd: number;
  readonly maxLogStd: number;
  /** Where log standard deviations and normaliser begin (floats), the normaliser's row, and its clip. */
  readonly logStdAt: number;
  readonly normAt: number;
  readonly normRow: number;
  readonly clipObservations: number;
}

export type ActorSpec = SquashedSpec | PpoActorSpec;

/** Floats of the parameters that an actor is given. */
export const actorFloats = (spec: ActorSpec): number =>
  "head" in spec ? spec.normAt + 2 * spec.normRow : squashedFloats(spec);

/** Numbers that an actor returns beside each action. */
export const actorOutputsOf = (spec: ActorSpec): number => ("head" in spec ? 2 : 0);

/** The actor of a spec. */
export const makeActor = (spec: ActorSpec, params: Float32Array, key: PhiloxKey): HostPolicy =>
  "head" in spec ? new HostPpoActor(spec, params, key) : new HostActor(spec, params, key);

/**
 * What a thread must know to act as the learner's policy.
 * @throws CorralError unsupported-collector for policies that remember, for scores in blocks and observations in groups
 */
export function ppoActorSpec({ nets, env, k4 }: LearnerShape, config: PpoConfig, space: Space): PpoActorSpec {
  const lacks = nets.cells
    ? `a memory (${config.recurrent})`
    : nets.head
      ? "scores in blocks or from embeddings"
      : env.groups
        ? "observations in groups"
        : "";
  if (lacks) {
    throw new CorralError(
      "unsupported-collector",
      `the policy of ${env.id} has ${lacks}; threads of the CPU collect for policies without. Collect on the device.`,
    );
  }
  const { squash, minLogStd, maxLogStd, normalizeObservations, clipObservations } = config;
  return {
    head: env.head,
    policy: nets.policy,
    value: nets.value,
    actions: env.actions,
    alternatives: env.alternatives,
    start: space.kind === "discrete" ? space.start : 0,
    low: space.kind === "box" ? [...space.low] : [],
    high: space.kind === "box" ? [...space.high] : [],
    squash,
    minLogStd,
    maxLogStd,
    logStdAt: 4 * nets.logStd.at,
    normAt: 4 * nets.params4,
    normRow: 4 * k4,
    clipObservations: normalizeObservations ? clipObservations : Infinity,
  };
}

const HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);

export class HostPpoActor implements HostPolicy {
  readonly #spec: PpoActorSpec;
  readonly #params: Float32Array;
  readonly #draws: ActionDraws;
  readonly #rows: TwoRows;

  /** Acts by the parameters that the array has at the time. */
  constructor(spec: PpoActorSpec, params: Float32Array, key: PhiloxKey) {
    this.#spec = spec;
    this.#params = params;
    this.#draws = new ActionDraws(key);
    this.#rows = rowsFor([...spec.policy, ...spec.value]);
  }

  #run(layers: readonly Layer[], observation: ArrayLike<number>): Float64Array {
    const { normAt, normRow, clipObservations: clip } = this.#spec;
    const [params, [x]] = [this.#params, this.#rows];
    for (let i = 0; i < observation.length; i++) {
      const scaled = (observation[i] - params[normAt + i]) * params[normAt + normRow + i];
      x[i] = Math.max(-clip, Math.min(clip, scaled));
    }
    return forward(layers, params, this.#rows);
  }

  value(observation: ArrayLike<number>): number {
    return this.#run(this.#spec.value, observation)[0];
  }

  /** `actorOutputs`: log probability and value. A rollout of PPO has no uniform actions. */
  act(
    observation: ArrayLike<number>,
    world: number,
    draw: number,
    _random: boolean,
    kept: Float32Array,
    sent: Float32Array | Int32Array,
    actorOutputs: Float32Array,
  ): void {
    actorOutputs[1] = this.value(observation);
    const out = this.#run(this.#spec.policy, observation);
    const draws = this.#spec.head === "gaussian" ? this.#gaussian : this.#categorical;
    actorOutputs[0] = draws.call(this, out, world, draw, kept, sent);
  }

  #gaussian(
    out: Float64Array,
    world: number,
    draw: number,
    kept: Float32Array,
    sent: Float32Array | Int32Array,
  ): number {
    const { actions, low, high, squash, minLogStd, maxLogStd, logStdAt } = this.#spec;
    let logProb = 0;
    for (let i = 0; i < actions; i++) {
      const z = this.#draws.normal(world, draw, i);
      const logStd = Math.max(minLogStd, Math.min(maxLogStd, this.#params[logStdAt + i]));
      kept[i] = out[i] + Math.exp(logStd) * z;
      logProb -= 0.5 * z * z + logStd + HALF_LOG_TWO_PI;
      sent[i] = squash ? between(low[i], high[i], Math.tanh(kept[i])) : Math.max(low[i], Math.min(high[i], kept[i]));
    }
    return logProb;
  }

  /** By inverting the distribution of each choice, in order. */
  #categorical(
    out: Float64Array,
    world: number,
    draw: number,
    kept: Float32Array,
    sent: Float32Array | Int32Array,
  ): number {
    const { alternatives, start } = this.#spec;
    let logProb = 0;
    let at = 0;
    alternatives.forEach((count, i) => {
      let best = -Infinity;
      for (let a = 0; a < count; a++) best = Math.max(best, out[at + a]);
      let total = 0;
      for (let a = 0; a < count; a++) total += Math.exp(out[at + a] - best);
      const goal = this.#draws.uniform(world, draw, i) * total;
      let choice = 0;
      for (let passed = Math.exp(out[at] - best); choice < count - 1 && goal >= passed;) {
        choice++;
        passed += Math.exp(out[at + choice] - best);
      }
      logProb += out[at + choice] - best - Math.log(total);
      kept[i] = choice;
      sent[i] = start + choice;
      at += count;
    });
    return logProb;
  }
}
