// what a run imitates: a teacher's policy in a file, a teacher of the user's own, or recorded episodes
import { resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { warn } from "../core/host.ts";
import { badOption } from "../core/options.ts";
import { readText } from "../core/read-bytes.ts";
import { show } from "../core/show.ts";
import { importModule, isModuleFile } from "../core/typescript.ts";
import { reasonOf } from "../core/write-bytes.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import type { Algorithm } from "../rl/algorithm.ts";
import { Ppo } from "../rl/ppo.ts";
import { wrongIn, type Demonstrations, type Teacher } from "../rl/ppo/imitation.ts";
import { policyFile, policyIn } from "./policy-file.ts";
import type { Settings } from "./settings.ts";

/** One update of a run. */
export type Update = () => ReturnType<Algorithm["iterate"]>;

/**
 * What an update of a run is: the algorithm's own, or towards a teacher or demonstrations.
 * @throws CorralError bad-option for both at once, and where PPO does not learn on the device; no-policy, bad-safetensors,
 *   bad-policy; bad-teacher; bad-demonstration
 */
export async function updateOf(
  algorithm: Algorithm,
  env: VectorEnv,
  { teacher, demonstrations }: Settings,
): Promise<Update> {
  const [name, path] = teacher === undefined ? ["demonstrations", demonstrations] : ["teacher", teacher];
  if (path === undefined) return () => algorithm.iterate();
  if (teacher !== undefined && demonstrations !== undefined)
    throw badOption("demonstrations", demonstrations, "leave out teacher, or this: a run imitates one of them");
  if (!(algorithm instanceof Ppo))
    throw badOption(name, path, "PPO's policy imitates, collecting on the device: leave out algo and collect, or this");
  if (teacher !== undefined) {
    const own = isModuleFile(teacher) ? await teacherIn(teacher) : policyIn(policyFile(teacher), env);
    return () => algorithm.imitate(own);
  }
  const steps = readDemonstrations(path, env);
  return () => algorithm.clone(steps);
}

/** The function that a module is made for. Throws `bad-teacher`. */
async function teacherIn(path: string): Promise<Teacher> {
  const refuse = (text: string) =>
    new CorralError(
      "bad-teacher",
      `${path} ${text}. Pass a policy (safetensors), or a module whose default export is a function from observations to actions.`,
      { path },
    );
  let found: { readonly default?: unknown };
  try {
    found = await importModule(resolve(path));
  } catch (error) {
    throw refuse(`cannot be loaded: ${reasonOf(error)}`);
  }
  if (typeof found.default !== "function") throw refuse(`exports ${show(found.default)} by default`);
  return found.default as Teacher;
}

/**
 * The steps of a file of `corral play --record`: a line of JSON for each episode.
 * @throws CorralError bad-demonstration with file and line
 */
export function readDemonstrations(
  path: string,
  env: Pick<VectorEnv, "id" | "singleObservationSpace" | "singleActionSpace">,
): Demonstrations {
  const refuse = (text: string, details: object = {}) =>
    new CorralError("bad-demonstration", `${path} ${text}. Pass a file of corral play --record FILE.jsonl.`, {
      path,
      ...details,
    });
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    throw refuse(`cannot be read: ${reasonOf(error)}`);
  }
  const observations: number[] = [];
  const actions: number[] = [];
  const others = new Set<string>();
  const take = (into: number[], row: unknown, width: number, what: string, line: number): void => {
    const numbers: unknown[] = Array.isArray(row) ? row : [row];
    const bad = numbers.find((x) => typeof x !== "number" || !Number.isFinite(Math.fround(x)));
    if (numbers.length !== width || bad !== undefined)
      throw refuse(
        `has on line ${line} ${what} of ${bad === undefined ? numbers.length : show(bad)}; ${env.id} has ${width} finite float32 numbers`,
        { line },
      );
    for (const x of numbers) into.push(x as number);
  };
  text.split("\n").forEach((one, i) => {
    if (one.trim() === "") return;
    let episode: { readonly env?: unknown; readonly observations?: unknown; readonly actions?: unknown } | null;
    try {
      episode = JSON.parse(one) as typeof episode;
    } catch {
      throw refuse(`has no JSON on line ${i + 1}`, { line: i + 1 });
    }
    const { env: of, observations: seen, actions: done } = Object(episode) as NonNullable<typeof episode>;
    if (typeof of === "string" && of !== env.id) others.add(of);
    if (!Array.isArray(seen) || !Array.isArray(done))
      throw refuse(`has no observations and actions of an episode on line ${i + 1}`, { line: i + 1 });
    // else nothing says which of them an action answers
    if (seen.length !== done.length && seen.length !== done.length + 1)
      throw refuse(
        `has on line ${i + 1} ${done.length} actions and ${seen.length} observations; each action has one before it, and at most one follows the last`,
        { line: i + 1 },
      );
    done.forEach((action: unknown, t) => {
      take(observations, seen[t], env.singleObservationSpace.size, "an observation", i + 1);
      take(actions, action, env.singleActionSpace.size, "an action", i + 1);
      const wrong = wrongIn(env.singleActionSpace, actions.slice(-env.singleActionSpace.size));
      if (wrong !== undefined) throw refuse(`has on line ${i + 1}, step ${t}: ${wrong}`, { line: i + 1, step: t });
    });
  });
  if (actions.length === 0) throw refuse("holds no step");
  if (others.size > 0)
    warn(
      `${path} was recorded in ${[...others].map(show).join(", ")}: what its observations and actions are in ${env.id} is taken on trust, since there are as many.`,
      "corral-other-demonstrations",
    );
  return { observations, actions };
}
