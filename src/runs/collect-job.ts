// the work of a collecting thread: its worlds on the CPU, stepped by the policy whose parameters it shares
import { CorralError } from "../core/errors.ts";
import type { ThreadPort } from "../core/posted.ts";
import { seedKey } from "../core/rng.ts";
import { jsEnvOf, makeJsVec } from "../env/js-env.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { learnerEnvOf } from "../rl/device/js-vec.ts";
import type { EnvSnapshot, LearnerEnv } from "../rl/device/learner-env.ts";
import { makeActor, type ActorSpec } from "../rl/ppo/host-actor.ts";
import { collectedRows, type CollectedShape } from "./collected.ts";

/** What a thread is started with. */
export interface CollectSetup {
  readonly id: string;
  readonly env: object;
  readonly seed: number | bigint;
  readonly first: number;
  readonly worlds: number;
  readonly shape: CollectedShape;
  readonly actor: ActorSpec;
  readonly params: SharedArrayBuffer;
  readonly buffers: readonly SharedArrayBuffer[];
}

/** Asks for the next steps, into one of the buffers. */
export interface CollectRequest {
  readonly buffer: number;
  readonly stamp: number;
  readonly random: boolean;
}

/** Saves or restores the state of the thread's worlds. */
export type StateRequest = { readonly snapshot: true } | { readonly restore: ThreadState };

/** The state of a thread between two batches. */
export interface ThreadState {
  readonly env: EnvSnapshot;
  readonly observations: Float32Array;
  readonly over: Uint8Array;
  readonly step: number;
}

/** Episodes that ended meanwhile: how many, with the sums of their returns and lengths; and steps whose status was not clean. */
export interface Episodes {
  readonly count: number;
  readonly returns: number;
  readonly lengths: number;
  readonly badSteps: number;
}

export type CollectAnswer =
  | { readonly ready: true }
  | { readonly episodes: Episodes }
  | { readonly state: ThreadState }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Where collectors' worlds run by default. */
export const COLLECTING = "wasm";

/** Makes the worlds, then answers requests. Throws what the environment throws. */
export async function collectFor(port: ThreadPort<CollectAnswer>, setup: CollectSetup): Promise<void> {
  const { id, first, worlds, shape, actor: spec } = setup;
  const { steps, numEnvs, observations: nobs, actions: nact, actorOutputs: nout } = shape;
  const worldIds = Array.from({ length: worlds }, (_, i) => first + i);
  const options = {
    device: COLLECTING,
    threads: 1,
    ...setup.env,
    numEnvs: worlds,
    seed: setup.seed,
    worldIds,
    autoreset: "next-step",
  };
  const js = jsEnvOf(id);
  const env: LearnerEnv = js
    ? learnerEnvOf(makeJsVec(js, { numEnvs: worlds, seed: setup.seed, worldIds }))
    : await makeVec(id, options as NamedOptions);
  const [found, actions, { kind }] = [
    env.singleObservationSpace.size,
    env.singleActionSpace.size,
    env.singleActionSpace,
  ];
  const isDiscrete = "head" in spec && spec.head === "categorical";
  if (found !== nobs || actions !== nact || (kind !== "box") !== isDiscrete) {
    throw new CorralError(
      "bad-policy",
      `${id} has ${found} observations and ${actions} ${kind} actions; the policy takes ${nobs} and puts out ${nact} ${isDiscrete ? "choices" : "numbers"}.`,
    );
  }
  const actor = makeActor(spec, new Float32Array(setup.params), seedKey(setup.seed));
  const buffers = setup.buffers.map((buffer) => collectedRows(buffer, shape));
  const sent = isDiscrete ? new Int32Array(worlds * nact) : new Float32Array(worlds * nact);
  const over = new Uint8Array(worlds);
  const { observations: start } = await env.reset();
  let observations: ArrayLike<number> & { subarray(from: number, to: number): ArrayLike<number> } = start;
  let step = 0;

  const collect = async ({ buffer, stamp, random }: CollectRequest): Promise<Episodes> => {
    const rows = buffers[buffer];
    let [count, returns, lengths, badSteps] = [0, 0, 0, 0];
    const keep = (t: number) => {
      const at = (t * numEnvs + first) * nobs;
      rows.observations.set(observations.subarray(0, worlds * nobs), at);
    };
    for (let t = 0; t < steps; t++, step++) {
      keep(t);
      for (let w = 0; w < worlds; w++) {
        const row = t * numEnvs + first + w;
        const kept = rows.actions.subarray(row * nact, (row + 1) * nact);
        const actorOutputs = rows.actorOutputs.subarray(row * nout, (row + 1) * nout);
        const seen = observations.subarray(w * nobs, (w + 1) * nobs);
        actor.act(seen, first + w, step, random, kept, sent.subarray(w * nact, (w + 1) * nact), actorOutputs);
      }
      const result = await env.step(sent);
      observations = result.observations;
      const { episode } = result.infos;
      for (let w = 0; w < worlds; w++) {
        const at = t * numEnvs + first + w;
        const ends = result.terminated[w] + 2 * result.truncated[w];
        rows.rewards[at] = result.rewards[w];
        rows.flags[at] = over[w] ? 4 : ends;
        rows.stamps[at] = stamp;
        over[w] = ends > 0 ? 1 : 0;
        if (result.infos.status(w) !== 0) badSteps++;
        if (!episode || episode.mask[w] === 0) continue;
        count++;
        returns += episode.r[w];
        lengths += episode.l[w];
      }
    }
    keep(steps);
    for (let w = 0; w < (nout > 0 ? worlds : 0); w++) {
      rows.actorOutputs[(steps * numEnvs + first + w) * nout + 1] = actor.value(
        observations.subarray(w * nobs, (w + 1) * nobs),
      );
    }
    return { count, returns, lengths, badSteps };
  };

  const answerTo = async (request: CollectRequest | StateRequest): Promise<CollectAnswer> => {
    if ("buffer" in request) return { episodes: await collect(request) };
    if ("snapshot" in request) {
      const seen = Float32Array.from(observations);
      return { state: { env: await env.snapshot(), observations: seen, over: over.slice(), step } };
    }
    const { restore } = request;
    await env.restore(restore.env);
    observations = restore.observations;
    over.set(restore.over);
    step = restore.step;
    return { ready: true };
  };

  const answer = (message: CollectAnswer) => port.postMessage(message);
  port.on("message", (request: CollectRequest | StateRequest) => {
    answerTo(request).then(answer, (error: unknown) => answer({ error: errorOf(error) }));
  });
  answer({ ready: true });
}

/** An error as it crosses threads. */
export function errorOf(error: unknown): { code: string; message: string } {
  const { code = "internal", message = String(error) } = error as { code?: string; message?: string };
  return { code, message };
}
