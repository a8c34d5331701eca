// the work of a thread that plays on MuJoCo's physics: some of the episodes at a time
import { postedError, type PostedError, type ThreadPort } from "../core/posted.ts";
import { openUnder, policyFrom, type Played, type PlayedSoFar } from "./under-worlds.ts";

/** What a thread is started with. */
export interface PlaySetup {
  /** Folder of a run, or file of a policy. */
  readonly source: string;
  /** Options of the environments. */
  readonly given: object;
  readonly seed: number;
}

/** What is known of a part of the episodes once it has been played. */
export interface Part {
  readonly device: string;
  readonly played: Played;
  /** The largest difference of an action of ONNX. */
  readonly actions?: number | undefined;
}

export type PlayAnswer = { readonly so: PlayedSoFar } | { readonly part: Part } | { readonly error: PostedError };

/** Plays the episodes of these worlds from their starts. */
async function playPart(
  { source, given, seed }: PlaySetup,
  worldIds: readonly number[],
  port: ThreadPort<PlayAnswer>,
): Promise<Part> {
  const { policy, id, options } = await policyFrom(source, given);
  const made = { ...options, seed, numEnvs: worldIds.length, worldIds };
  await using worlds = await openUnder("mujoco", id, made, { policy });
  const played = await worlds.play(seed, (so) => port.postMessage({ so }));
  return { device: worlds.device, played };
}

/** Plays what it is sent, one part after the other. */
export function playFor(port: ThreadPort<PlayAnswer>, setup: PlaySetup): void {
  port.on("message", (worldIds: readonly number[]) => {
    playPart(setup, worldIds, port).then(
      (part) => port.postMessage({ part }),
      (error: unknown) => port.postMessage({ error: postedError(error) }),
    );
  });
}
