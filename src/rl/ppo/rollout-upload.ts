// rollouts that a collector made, into the learner's memory: its rows, world after world
import type { Space } from "../../env/space/spaces.ts";
import type { LearnerShape } from "./arenas.ts";
import type { PpoConfig } from "./config.ts";
import { SAMPLE } from "../tables/device-tables.ts";
import { ppoActorSpec } from "./host-actor.ts";
import type { Learner } from "./learner.ts";
import type { CollectedSteps } from "../replay/row-store.ts";

/** Control steps with log probability and value of each action, [steps + 1, numEnvs, 2]. */
export interface CollectedRollout extends CollectedSteps {
  readonly actorOutputs: Float32Array;
}

/** Sends rollouts; holds one on the host, which `intakeBytes` counts. */
export class RolloutUpload {
  readonly #learner: Learner;
  readonly #observations: Float32Array<ArrayBuffer>;
  readonly #actions: Float32Array<ArrayBuffer>;
  readonly #samples: Uint32Array<ArrayBuffer>;

  constructor(learner: Learner) {
    const { samples, obs4, actions4 } = learner.shape;
    this.#learner = learner;
    this.#observations = new Float32Array(samples * 4 * obs4);
    this.#actions = new Float32Array(samples * 4 * actions4);
    this.#samples = new Uint32Array(samples * SAMPLE.size);
  }

  /** Writes a rollout where the kernels look for it. */
  send({ steps, numEnvs, observations, actions, rewards, flags, actorOutputs }: CollectedRollout): void {
    const { env, obs4, actions4 } = this.#learner.shape;
    const { observations: nobs, actions: nact } = env;
    // choices are integers on the device
    const into = env.head === "gaussian" ? this.#actions : new Uint32Array(this.#actions.buffer);
    for (let world = 0; world < numEnvs; world++) {
      for (let t = 0; t < steps; t++) {
        const [from, to] = [t * numEnvs + world, world * steps + t];
        this.#observations.set(observations.subarray(from * nobs, (from + 1) * nobs), to * 4 * obs4);
        into.set(actions.subarray(from * nact, (from + 1) * nact), to * 4 * actions4);
        const [logProb, value] = actorOutputs.subarray(2 * from);
        const last_value = t === steps - 1 ? actorOutputs[2 * (from + numEnvs) + 1] : 0;
        const sample = { log_prob: logProb, value, reward: rewards[from], flags: flags[from], last_value };
        SAMPLE.write(sample, this.#samples, to * SAMPLE.size);
      }
    }
    this.#learner.write("rollout_obs", this.#observations);
    this.#learner.write("rollout_actions", this.#actions);
    this.#learner.write("samples", this.#samples);
  }
}

/** Bytes that an `RolloutUpload` holds on the host. */
const intakeBytes = ({ samples, obs4, actions4 }: LearnerShape): number =>
  4 * samples * (4 * obs4 + 4 * actions4 + SAMPLE.size);

/** What a `Collector` must know to collect for a learner. Throws `unsupported-collector`. */
export function ppoCollecting(shape: LearnerShape, config: PpoConfig, space: Space) {
  const { numEnvs, observations } = shape.env;
  const actor = ppoActorSpec(shape, config, space);
  return { numEnvs, steps: config.rolloutSteps, observations, actor, sendBytes: intakeBytes(shape) };
}
