// the work of a collecting thread: its worlds on the CPU, stepped by the policy whose parameters it shares
import type { MessagePort } from "node:worker_threads";
import { CorralError } from "../core/errors.ts";
import { seedKey } from "../core/rng.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { HostActor, type ActorSpec } from "../rl/host-actor.ts";
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

/** Episodes that ended meanwhile: how many, with the sums of their returns and lengths. */
export interface Episodes {
  readonly count: number;
  readonly returns: number;
  readonly lengths: number;
}

export type CollectAnswer =
  | { readonly ready: true }
  | { readonly episodes: Episodes }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Makes the worlds, then answers requests. Throws what the environment throws. */
export async function collectFor(port: MessagePort, setup: CollectSetup): Promise<void> {
  const { id, first, worlds, shape, actor: spec } = setup;
  const { steps, numEnvs, observations: nobs, actions: nact } = shape;
  const worldIds = Array.from({ length: worlds }, (_, i) => first + i);
  const options = { device: "cpu", ...setup.env, numEnvs: worlds, seed: setup.seed, worldIds, autoreset: "next-step" };
  const env = await makeVec(id, options as NamedOptions);
  const [found, actions] = [env.singleObservationSpace.size, env.singleActionSpace.size];
  if (found !== nobs || actions !== nact || env.singleActionSpace.kind !== "box") {
    throw new CorralError(
      "bad-policy",
      `${id} has ${found} observations and ${actions} ${env.singleActionSpace.kind} actions; the policy takes ${nobs} and puts out ${nact} numbers.`,
    );
  }
  const actor = new HostActor(spec, new Float32Array(setup.params), seedKey(setup.seed));
  const buffers = setup.buffers.map((buffer) => collectedRows(buffer, shape));
  const sent = new Float32Array(worlds * nact);
  const over = new Uint8Array(worlds);
  let { observations } = await env.reset();
  let step = 0;

  const collect = async ({ buffer, stamp, random }: CollectRequest): Promise<Episodes> => {
    const rows = buffers[buffer];
    let [count, returns, lengths] = [0, 0, 0];
    const keep = (t: number) => {
      const at = (t * numEnvs + first) * nobs;
      rows.observations.set(observations.subarray(0, worlds * nobs), at);
    };
    for (let t = 0; t < steps; t++, step++) {
      keep(t);
      for (let w = 0; w < worlds; w++) {
        const at = (t * numEnvs + first + w) * nact;
        const squashed = rows.actions.subarray(at, at + nact);
        const seen = observations.subarray(w * nobs, (w + 1) * nobs);
        actor.act(seen, first + w, step, random, squashed, sent.subarray(w * nact, (w + 1) * nact));
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
        if (!episode || episode.mask[w] === 0) continue;
        count++;
        returns += episode.r[w];
        lengths += episode.l[w];
      }
    }
    keep(steps);
    return { count, returns, lengths };
  };

  const answer = (message: CollectAnswer) => port.postMessage(message);
  port.on("message", (request: CollectRequest) => {
    collect(request).then(
      (episodes) => answer({ episodes }),
      (error: unknown) => answer({ error: told(error) }),
    );
  });
  answer({ ready: true });
}

/** An error as it crosses threads. */
export function told(error: unknown): { code: string; message: string } {
  const { code = "internal", message = String(error) } = error as { code?: string; message?: string };
  return { code, message };
}
