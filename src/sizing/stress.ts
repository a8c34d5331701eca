// more and more worlds until something refuses, beside a batch that must not notice
import { createHash } from "node:crypto";
import { CorralError } from "../core/errors.ts";
import { badOption } from "../core/options.ts";
import { BATCH_OPTIONS } from "../batch/options.ts";
import { makeVec, type Task, type VectorEnv, type VecOptions } from "../env/index.ts";
import type { Budget, Plan } from "../memory/index.ts";
import { machineFacts, now, type MachineFacts } from "../bench/machine.ts";
import { Runner } from "../bench/runner.ts";
import { bound, openPlace, type PlaceOptions } from "./stress-place.ts";

/** Worlds that a batch may have at most, whatever memory there is. */
export const MOST_WORLDS = BATCH_OPTIONS.numEnvs.max;

export interface StressOptions extends PlaceOptions {
  /** Each count of worlds is this many times the one before, above 1, at most `MOST_WORLDS`. Default 2. */
  readonly factor?: number;
  /** The first count of worlds. Default 64. */
  readonly from?: number;
  /** Counts end here, refused or not. Default: none. */
  readonly most?: number;
  /** Seconds of each measurement. Default 0.5. */
  readonly seconds?: number;
  readonly seed?: number;
  /** Options of all batches. */
  readonly batch?: Omit<VecOptions, "numEnvs" | "seed" | "device">;
}

/** A count of worlds that could be made. Bytes are those of its plan, all of them held. */
export interface StressRow {
  readonly numEnvs: number;
  readonly bytes: number;
  readonly bytesPerEnv: number;
  readonly shards: number;
  /** From the call that makes the batch to the results of its first step. */
  readonly constructMs: number;
  readonly envStepsPerSec: number;
  readonly physicsStepsPerSec: number;
  /** Memory of the process while the batch was there. */
  readonly residentBytes: number;
}

/** A count of worlds that was refused, and what it left. */
export interface StressRefusal {
  readonly numEnvs: number;
  readonly bytes: number | null;
  readonly code: string;
  /** Which limit ended it: `budget`, a limit of WebGPU, `driver`. */
  readonly limit: string;
  readonly message: string;
  /** The most worlds that fit, if the plan can tell. */
  readonly largestNumEnvs: number | null;
  readonly milliseconds: number;
  readonly liveBefore: number;
  readonly liveAfter: number;
  /** The other batch's bits, at rest and after ten more steps. */
  readonly referenceUnchanged: boolean;
}

/** What a stress run tells as it goes. */
export type StressEvent =
  | { readonly kind: "start"; readonly start: StressStart }
  | { readonly kind: "trying"; readonly numEnvs: number; readonly why: "growth" | "largest" | "after" }
  | { readonly kind: "row"; readonly row: StressRow }
  | { readonly kind: "refusal"; readonly refusal: StressRefusal }
  | { readonly kind: "end"; readonly liveAtEnd: number };

export interface StressStart {
  readonly name: string;
  readonly adapter: string;
  readonly machine: MachineFacts;
  readonly budget: { readonly limit: number; readonly source: string };
  readonly reference: { readonly numEnvs: number; readonly bytes: number };
  readonly frameSkip: number;
}

const REFERENCE_ENVS = 64;
const REFERENCE_STEPS = 10;
/** Constructions of a batch that fits, after a driver's refusal: what it returned must be there again. */
const REPEATS = 10;

/**
 * Raises the count of worlds until a refusal, in this process, and tells each step of it. After a refusal the largest
 * count that the plan says fits is made too.
 * @throws CorralError bad-option; what makeVec throws for the smallest batch
 */
export async function stressHere(
  task: Task<object>,
  options: StressOptions,
  tell: (event: StressEvent) => void,
): Promise<void> {
  const { factor = 2, from = REFERENCE_ENVS, most = Infinity, seconds = 0.5, seed = 0, batch = {} } = options;
  if (!(factor > 1 && factor <= MOST_WORLDS))
    throw badOption("factor", factor, `pass a number above 1 and at most ${MOST_WORLDS}, such as 2`);
  using place = await openPlace(options);
  const { budget, device, name } = place;

  // the adapter was chosen with the device
  const common = { ...batch, device };
  const reference = await Reference.create(task, common, seed);

  // MuJoCo and the driver's compiler have what they reserve by now
  await bound(place, options);
  tell({
    kind: "start",
    start: {
      name: task.id,
      adapter: name,
      machine: machineFacts(name),
      budget: { limit: budget.limit, source: budget.source },
      reference: { numEnvs: REFERENCE_ENVS, bytes: reference.bytes },
      frameSkip: batch.frameSkip ?? task.frameSkip,
    },
  });

  const attempt = async (numEnvs: number, why: "growth" | "largest" | "after"): Promise<StressRefusal | undefined> => {
    tell({ kind: "trying", numEnvs, why });
    const result = await tryCount(task, { ...common, numEnvs }, { seconds, seed, budget, reference });
    if ("code" in result) {
      tell({ kind: "refusal", refusal: result });
      return result;
    }
    tell({ kind: "row", row: result });
    return undefined;
  };

  try {
    for (let numEnvs = from; numEnvs <= most; numEnvs = Math.min(MOST_WORLDS, Math.ceil(numEnvs * factor))) {
      const refusal = await attempt(numEnvs, "growth");
      if (refusal === undefined && numEnvs === MOST_WORLDS) break;
      if (refusal === undefined) continue;
      const largest = refusal.largestNumEnvs;
      if (largest !== null && largest > 0) await attempt(largest, "largest");
      if (refusal.limit === "driver") for (let i = 0; i < REPEATS; i++) await attempt(from, "after");
      break;
    }
  } finally {
    await reference.close();
  }
  tell({ kind: "end", liveAtEnd: budget.live });
}

/** One construction, measured; or its refusal, with what it left. */
async function tryCount(
  task: Task<object>,
  options: VecOptions,
  { seconds, seed, budget, reference }: { seconds: number; seed: number; budget: Budget; reference: Reference },
): Promise<StressRow | StressRefusal> {
  const { numEnvs } = options;
  const liveBefore = budget.live;
  const begin = now();
  let runner: Runner | undefined;

  try {
    runner = await Runner.create(task, options, seed);
    const { env, firstStepMs } = runner;
    const bytes = budget.live - liveBefore;
    if (bytes !== env.plan.totalBytes) {
      throw new Error(`${numEnvs} worlds hold ${bytes} bytes, and ${env.plan.totalBytes} were planned`);
    }
    const { controlSteps, seconds: took } = await runner.withResults(seconds);
    const envStepsPerSec = (numEnvs * controlSteps) / took;
    return {
      numEnvs,
      bytes,
      bytesPerEnv: bytes / numEnvs,
      shards: env.plan.shards.length,
      constructMs: firstStepMs,
      envStepsPerSec,
      physicsStepsPerSec: envStepsPerSec * (options.frameSkip ?? task.frameSkip),
      residentBytes: process.memoryUsage.rss(),
    };
  } catch (error) {
    // arrays of the host that cannot be made are a refusal too
    if (!(error instanceof CorralError || error instanceof RangeError)) throw error;
    const milliseconds = 1000 * (now() - begin);
    await runner?.close();
    runner = undefined;
    await budget.settle();
    return {
      ...describeRefusal(error),
      numEnvs,
      milliseconds,
      liveBefore,
      liveAfter: budget.live,
      referenceUnchanged: await reference.isUnchanged(),
    };
  } finally {
    await runner?.close();
  }
}

function describeRefusal(
  error: CorralError | RangeError,
): Pick<StressRefusal, "bytes" | "code" | "limit" | "message" | "largestNumEnvs"> {
  if (error instanceof RangeError) {
    return { bytes: null, code: "RangeError", limit: "host memory", message: error.message, largestNumEnvs: null };
  }
  const plan = ((error as { plan?: Plan }).plan ?? error.details.plan) as Plan | undefined;
  const driver = error.code === "allocation-refused" || error.code.startsWith("gpu-");
  return {
    bytes: plan?.totalBytes ?? null,
    code: error.code,
    limit: driver ? "driver" : (plan?.bound.limit ?? error.code),
    message: error.message,
    largestNumEnvs: driver ? null : (plan?.largestNumEnvs ?? null),
  };
}

/** A batch whose bits must not change, and which must go on to the same ones. */
class Reference {
  readonly #env: VectorEnv;
  readonly #actions: Float32Array | Int32Array;
  readonly #start: Awaited<ReturnType<VectorEnv["snapshot"]>>;
  readonly #wanted: string;

  private constructor(
    env: VectorEnv,
    actions: Float32Array | Int32Array,
    start: Awaited<ReturnType<VectorEnv["snapshot"]>>,
    wanted: string,
  ) {
    this.#env = env;
    this.#actions = actions;
    this.#start = start;
    this.#wanted = wanted;
  }

  static async create(task: Task<object>, options: Omit<VecOptions, "numEnvs">, seed: number): Promise<Reference> {
    const env = await makeVec(task as unknown as Task<never>, { ...options, numEnvs: REFERENCE_ENVS, seed } as never);
    await env.reset();
    const actions = env.actionSpace.sample(seed);
    const start = await env.snapshot();
    return new Reference(env, actions, start, await ahead(env, actions));
  }

  /** Bytes that it holds. */
  get bytes(): number {
    return this.#env.plan.totalBytes;
  }

  /** Whether its bits are what they were, and ten steps from the start lead to the same ones again. */
  async isUnchanged(): Promise<boolean> {
    if ((await hashOf(this.#env)) !== this.#wanted) return false;
    await this.#env.restore(this.#start);
    return (await ahead(this.#env, this.#actions)) === this.#wanted;
  }

  close(): Promise<void> {
    return this.#env.close();
  }
}

async function ahead(env: VectorEnv, actions: Float32Array | Int32Array): Promise<string> {
  for (let i = 0; i < REFERENCE_STEPS; i++) await env.step(actions);
  return hashOf(env);
}

async function hashOf(env: VectorEnv): Promise<string> {
  const kept = env.plan.arenas.find((arena) => arena.name === "state")!.fields.map((field) => field.name);
  const state = await env.getState(
    ["time", "qpos", "qvel", "act", "qacc_warmstart"].filter((name) => kept.includes(name)),
  );
  const hash = createHash("sha256");
  for (const values of Object.values(state)) hash.update(values);
  return hash.update(env.observations).digest("hex");
}
