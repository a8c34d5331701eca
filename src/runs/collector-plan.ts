// what collectors take of the host's budget: worlds of their threads, and buffers that they share with the learner
import { availableParallelism } from "node:os";
import { hostPlan, onCpu, planContext } from "../batch/device.ts";
import type { HostDevice } from "../batch/devices.ts";
import { emitterReady } from "../batch/wasm/kernel-cache.ts";
import { jsEnvOf } from "../env/js-env.ts";
import { planVecKernels } from "../env/make.ts";
import { totalBytes } from "../memory/cost.ts";
import { planBatch, type Plan } from "../memory/plan.ts";
import { defaultLimits } from "../memory/request.ts";
import { actorFloats, actorOutputsOf, type ActorSpec } from "../rl/ppo/host-actor.ts";
import { COLLECTING } from "./collect-job.ts";
import { collectedBytes, type CollectedShape } from "./collected.ts";

export interface CollectorOptions {
  /** Worlds of all threads together, and control steps of each in a batch. */
  readonly numEnvs: number;
  readonly steps: number;
  readonly actor: ActorSpec;
  /** Numbers of an observation. */
  readonly observations: number;
  /** Default: as many as the machine has processors, at most one a world. */
  readonly threads?: number;
  /** Of start states and actions. Default 0. */
  readonly seed?: number | bigint;
  /** Other options of the environments; their device is one without an adapter. */
  readonly env?: object;
  /** Bytes of host memory that the learner sends batches through; they are planned with the rest. */
  readonly sendBytes?: number;
  /** Modules that register tasks of the user's own, as URLs. */
  readonly modules?: readonly string[];
}

/** While one is learnt from, threads fill the other. */
export const BUFFERS = 2;

export const shapeOf = ({ steps, numEnvs, observations, actor }: CollectorOptions): CollectedShape => ({
  steps,
  numEnvs,
  observations,
  actions: actor.actions,
  actorOutputs: actorOutputsOf(actor),
});

function threadsOf({ numEnvs, threads = availableParallelism() }: CollectorOptions): number {
  return Math.min(threads, numEnvs);
}

/** The worlds of a thread. */
export interface Part {
  readonly first: number;
  readonly worlds: number;
}

export function partsOf(options: CollectorOptions): Part[] {
  const threads = threadsOf(options);
  const start = (i: number) => Math.floor((i * options.numEnvs) / threads);
  return Array.from({ length: threads }, (_, i) => ({ first: start(i), worlds: start(i + 1) - start(i) }));
}

/** The most worlds of a thread. */
const mostOf = (options: CollectorOptions): number => Math.max(...partsOf(options).map(({ worlds }) => worlds));

/**
 * Plans collectors of an environment for any count of worlds, whose kernels are traced once: of so many worlds of a thread, for
 * which options such as shards are.
 */
export async function collectorPlanner(
  id: string,
  env: object = {},
  worlds = 1,
): Promise<(options: CollectorOptions) => Plan> {
  await emitterReady();
  const { device = COLLECTING } = env as { device?: HostDevice };
  // what worlds in JavaScript hold is their own
  const isJs = jsEnvOf(id) !== undefined;
  const given = { device, ...env, numEnvs: worlds };
  const planned = isJs ? undefined : await planVecKernels(id, given, onCpu(planContext({}, worlds)));
  const cost = planned && hostPlan(planned, device, 1).cost;
  const unlimited = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, Infinity]));
  const arena = (name: string, bytes: number, remedy: string) => ({
    name,
    access: "read_write" as const,
    scope: "batch" as const,
    fields: [{ name, group: "collector", type: "f32" as const, shared: Math.ceil(bytes / 4), remedy }],
  });
  return (options) => {
    const { numEnvs, actor, sendBytes = 0 } = options;
    const worldBytes = cost ? totalBytes(cost, Math.ceil(mostOf(options) / cost.tileWidth)) : 0;
    return planBatch({
      name: `${id}.collector`,
      numEnvs,
      limits: unlimited as unknown as typeof defaultLimits,
      maxShards: 1,
      arenas: [
        ...(isJs ? [] : [arena("worlds", partsOf(options).length * worldBytes, "fewer worlds")]),
        arena("rows", BUFFERS * collectedBytes(shapeOf(options)), "fewer steps"),
        ...(sendBytes > 0 ? [arena("sending", sendBytes, "fewer steps")] : []),
        arena("params", 4 * actorFloats(actor), "narrower hidden layers"),
      ],
    });
  };
}

/** The plan of all threads' worlds and of what they share. */
export const planCollector = async (id: string, options: CollectorOptions): Promise<Plan> =>
  (await collectorPlanner(id, options.env, mostOf(options)))(options);
