// episodes of any actor as a recording
import { CorralError } from "../core/errors.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";

/** Actions for all worlds, [numEnvs, ...] row-major, of observations of the same order. */
export type Act = (observations: Float32Array | Float64Array) => ArrayLike<number> | Promise<ArrayLike<number>>;

/**
 * Plays the first episode of each world and returns the bytes of a recording (.npz): states, actions, rewards and the model,
 * as `corral view` and `corral render` show it and NumPy reads it. Where a task has no limit of control steps, episodes are
 * cut after 1,000.
 * @throws what `env.reset` and `env.step` throw
 */
export async function recordEpisodes(
  env: VectorEnv,
  act: Act,
  { seed = 0 }: { readonly seed?: number } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof (env as VectorEnv | undefined)?.step !== "function" || typeof act !== "function")
    throw new CorralError(
      "bad-option",
      "recordEpisodes takes an environment of makeVec, and a function from observations to actions.",
    );
  // a page that records nothing loads no recorder
  const [{ EpisodeRecorder }, { firstEpisodes }] = await Promise.all([
    import("./episode-recorder.ts"),
    import("../rl/evaluate.ts"),
  ]);
  const recorder = new EpisodeRecorder(env);
  const onStart = () => recorder.start(seed);
  const own = async () => Array.from(await act(env.observations));
  await firstEpisodes(env, seed, own, { onStart, onStep: (step) => recorder.step(step) });
  recorder.end(env.numEnvs);
  return recorder.bytes();
}
