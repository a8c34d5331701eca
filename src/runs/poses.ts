// positions of worlds, control step by control step: what pictures are made of
import { CorralError } from "../core/errors.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { AppliedPolicy } from "../rl/networks/apply-policy.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { groundNames, groundOf } from "./ground-at.ts";
import type { WorldPose } from "../render/poses.ts";

/** What acts: a policy, random actions, or none (zeros, or the nearest that the space has). */
export type Actor = Policy | "random" | "none";

const FIELDS = ["qpos", "mocap_pos", "mocap_quat"] as const;

/** The poses of all worlds now, or of chosen ones. */
export async function posesOf(env: VectorEnv, worlds?: readonly number[]): Promise<WorldPose[]> {
  const names = FIELDS.filter((name) => env.stateNames.includes(name));
  const values: Record<string, Float64Array> = await env.getState([...names, ...groundNames(env)], worlds);
  const count = worlds?.length ?? env.numEnvs;
  return Array.from({ length: count }, (_, world) => {
    const entries = names.map((name) => {
      const width = values[name].length / count;
      return [name, values[name].slice(world * width, (world + 1) * width)];
    });
    // nothing is kept of a model whose bodies do not move
    return { qpos: [], ...Object.fromEntries(entries), ...groundOf(values, world) } as WorldPose;
  });
}

/**
 * Starts episodes and yields the poses of all worlds, at the start and after each control step.
 * @throws CorralError bad-policy if the policy is of other observations
 */
export async function* poses(env: VectorEnv, actor: Actor, seed: number, steps: number): AsyncGenerator<WorldPose[]> {
  const applied = typeof actor === "string" ? undefined : new AppliedPolicy(actor, env.numEnvs);
  const seen = env.observationGroups.policy?.size ?? env.singleObservationSpace.size;
  if (typeof actor !== "string" && actor.observations !== seen) {
    throw new CorralError("bad-policy", `the policy sees ${actor.observations} numbers; ${env.id} shows ${seen}.`);
  }
  await env.reset({ seed });
  yield await posesOf(env);
  const idle = env.actionSpace.sample(0).fill(0);
  for (let t = 0; t < steps; t++) {
    const actions = applied
      ? applied.act(env.observations)
      : actor === "random"
        ? env.actionSpace.sample(seed, { draw: t })
        : idle;
    const { terminated, truncated } = await env.step(actions);
    terminated.forEach((ends, world) => {
      if (ends || truncated[world]) applied?.forget(world);
    });
    yield await posesOf(env);
  }
}
