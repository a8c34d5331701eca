// worlds beside a run that trains: copies of some of its own, which go on here
import { makeVec, type NamedOptions } from "../env/make.ts";
import { taskOf } from "../env/registry.ts";
import { loadTaskModel } from "../env/task/load.ts";
import { Stage } from "../render/poses.ts";
import { collectorEnv } from "../runs/settings.ts";
import { LiveSubject } from "./live.ts";
import type { RunPageSetup } from "./run-messages.ts";

/** Throws what makeVec, `loadModel` and `Stage.create` throw. */
export async function runSubject({ facts, env: given, seed, worlds }: RunPageSetup): Promise<LiveSubject> {
  const { id } = facts;
  const options = { ...collectorEnv(given), device: "wasm", threads: 1, numEnvs: worlds, seed } as NamedOptions;
  const env = await makeVec(id, options);
  try {
    const stage = await Stage.create(await loadTaskModel(taskOf(id), { visuals: true }));
    const note = `Worlds of the run as they were after an update, which go on here under its policy of then; every few seconds they are taken anew. The run itself trains on ${facts.device}.`;
    return await LiveSubject.create(env, stage, {
      seed: Number(seed),
      policy: undefined,
      actor: "random",
      note,
      run: facts,
    });
  } catch (error) {
    await env.close();
    throw error;
  }
}
