// environments of the user's own JavaScript as learners step them: what a call returned lies in arenas like those of
// WebAssembly, which the learner copies
import { CorralError } from "../../core/errors.ts";
import { answered } from "../../core/answered.ts";
import { assertObject, badReturn, calling, savedBy, thrown } from "../../core/returned.ts";
import { show } from "../../core/show.ts";
import { defaultThreads } from "../../core/host.ts";
import type { ArenaView, WasmViews } from "../../env/host/gpu-views.ts";
import type { JsVec, JsVecStep, Rows } from "../../env/js-env.ts";
import type { Actions, EnvSnapshot, JsSnapshot, LearnerEnv, LearnerStep } from "./learner-env.ts";

/** Words of a world's row of results. */
const WORD = { reward: 0, terminated: 1, truncated: 2, reset: 3, status: 4, episode_return: 5, episode_length: 6 };
const RESULT_WORDS = 8;

/** Their ids and results lie in the heap. */
const MOST_WORLDS = 2 ** 24;

/** Environments in JavaScript behind the interface of learners; made once for each. */
const known = new WeakMap<object, LearnerEnv>();

/**
 * The environment of a learner: what `makeVec` returns as it is, other objects with `step` and spaces as their user made them.
 * @throws CorralError bad-env
 */
export function learnerEnvOf(env: LearnerEnv | JsVec): LearnerEnv {
  if ("wasm" in Object(env)) return env as LearnerEnv;
  const own = env as Partial<JsVec> | undefined;
  if (!own?.singleObservationSpace || !own.singleActionSpace || !own.step || !own.reset || own.numEnvs === undefined) {
    const what = (env as unknown) instanceof Promise ? "a promise, not awaited" : "none that makeVec made";
    throw new CorralError(
      "bad-env",
      `the environment is ${what}. Pass what \`await makeVec(...)\` returns, or an object with numEnvs, singleObservationSpace, singleActionSpace, reset and step.`,
    );
  }
  const other = (["reset", "step"] as const).find((name) => typeof own[name] !== "function");
  if (other !== undefined)
    throw new CorralError("bad-env", `${other} of the environment is ${show(own[other])}; pass a function.`);
  assertSizes(own as JsVec);
  let adapted = known.get(own);
  if (!adapted) known.set(own, (adapted = new JsVectorEnv(own as JsVec)));
  return adapted;
}

/** Throws `bad-env` for a count of worlds that cannot be, and for spaces that are none. */
function assertSizes(own: JsVec): void {
  const { id = "JsVec", numEnvs, singleObservationSpace: seen, singleActionSpace: taken, worldIds } = own;
  const bad = (name: string, value: unknown, want: string) =>
    new CorralError("bad-env", `${name} of ${id} is ${show(value)}; pass ${want}.`, { id, name });
  if (!Number.isInteger(numEnvs) || numEnvs < 1 || numEnvs > MOST_WORLDS)
    throw bad("numEnvs", numEnvs, `an integer from 1 to ${MOST_WORLDS}`);
  const kinds: readonly string[] = ["box", "discrete", "multi-discrete"];
  if (seen.kind !== "box" || !(seen.size >= 1)) throw bad("singleObservationSpace", seen, "a Box");
  if (!kinds.includes(taken.kind) || !(taken.size >= 1))
    throw bad("singleActionSpace", taken, "a Box, Discrete or MultiDiscrete");
  if (worldIds !== undefined && worldIds.length !== numEnvs)
    throw bad("worldIds", worldIds, `${numEnvs} ids, one for each world`);
}

const padded = (n: number): number => 4 * Math.ceil(n / 4);

class JsVectorEnv implements LearnerEnv {
  readonly id: string;
  readonly numEnvs: number;
  readonly autoreset: LearnerEnv["autoreset"];
  readonly singleActionSpace: JsVec["singleActionSpace"];
  readonly singleObservationSpace: JsVec["singleObservationSpace"];
  readonly observationGroups = {};
  readonly worldIds: readonly number[];
  readonly maxEpisodeSteps: number;
  readonly deviceName = "JavaScript";
  readonly gpu = undefined;
  readonly wasm: WasmViews;
  readonly #own: JsVec;
  readonly #obs: Float32Array<ArrayBuffer>;
  readonly #result: Float32Array<ArrayBuffer>;
  readonly #action: Uint32Array<ArrayBuffer>;
  /** What its user is given. */
  readonly #actions: Float32Array | Int32Array;
  readonly #step: LearnerStep;
  #wasReset = false;

  constructor(own: JsVec) {
    const { id = "JsVec", numEnvs, singleActionSpace, singleObservationSpace, autoreset = "next-step" } = own;
    this.#own = own;
    this.id = id;
    this.numEnvs = numEnvs;
    this.autoreset = autoreset;
    this.singleActionSpace = singleActionSpace;
    this.singleObservationSpace = singleObservationSpace;
    this.worldIds = own.worldIds ?? Array.from({ length: numEnvs }, (_, i) => i);
    this.maxEpisodeSteps = own.maxEpisodeSteps ?? Infinity;
    const [nobs, nact] = [singleObservationSpace.size, singleActionSpace.size];
    const [obsWords, actionWords] = [padded(nobs), padded(nact)];
    this.#obs = new Float32Array(numEnvs * obsWords);
    this.#result = new Float32Array(numEnvs * RESULT_WORDS);
    this.#action = new Uint32Array(numEnvs * actionWords);
    const isFloat = singleActionSpace.kind === "box";
    this.#actions = isFloat ? new Float32Array(numEnvs * nact) : new Int32Array(numEnvs * nact);
    const view = (words: number, length: number, word = 0, type: ArenaView["type"] = "f32"): ArenaView => ({
      type,
      length,
      offset: 4 * word,
      stride: 4 * words,
    });
    const result = (name: keyof typeof WORD) => view(RESULT_WORDS, 1, WORD[name]);
    const arenas = { obs: new Uint32Array(this.#obs.buffer), result: new Uint32Array(this.#result.buffer) };
    this.wasm = {
      threads: defaultThreads(),
      actions: view(actionWords, nact, 0, isFloat ? "f32" : "i32"),
      observations: view(obsWords, nobs),
      rewards: result("reward"),
      terminated: result("terminated"),
      truncated: result("truncated"),
      resets: result("reset"),
      status: result("status"),
      episodeReturns: result("episode_return"),
      episodeLengths: result("episode_length"),
      shards: [{ index: 0, firstWorld: 0, worlds: numEnvs }],
      read: async (arena, _shard, into) => into.set(arenas[arena]),
      writeActions: async (_shard, words) => this.#action.set(words),
    };
    this.#step = this.#results(nobs);
  }

  /** What calls return, always the same arrays. */
  #results(nobs: number): LearnerStep {
    const { numEnvs } = this;
    const rewards = new Float32Array(numEnvs);
    const [terminated, truncated, mask] = [0, 0, 0].map(() => new Uint8Array(numEnvs));
    const observations = new Float32Array(numEnvs * nobs);
    const result = this.#result;
    const word = (name: keyof typeof WORD) => (_: unknown, world: number) => result[world * RESULT_WORDS + WORD[name]];
    const infos = {
      get episode() {
        mask.forEach((_, i) => (mask[i] = terminated[i] | truncated[i]));
        if (!mask.includes(1)) return undefined;
        const ended = (values: Float32Array) => values.map((x, i) => (mask[i] ? x : 0));
        const of = (name: keyof typeof WORD) => ended(new Float32Array(numEnvs).map(word(name)));
        return { r: of("episode_return"), l: Uint32Array.from(of("episode_length")), mask };
      },
      status: () => 0,
      get: () => undefined,
    };
    return { observations, rewards, terminated, truncated, infos };
  }

  get observations(): LearnerStep["observations"] {
    return this.#step.observations;
  }

  #bad(what: string): CorralError {
    return new CorralError("bad-env", `${this.id} ${what}.`, { id: this.id });
  }

  /** What its user's code returns. Throws `bad-env` with the cause; errors with a code pass. */
  async #called<T extends object>(place: string, made: () => T | Promise<T>, want: string): Promise<T> {
    const call = { id: this.id, place };
    let value: T;
    try {
      value = await answered(made(), `${this.id}, ${place}`, (text) => badReturn(call, text));
    } catch (error) {
      throw error instanceof CorralError ? error : thrown(call, error);
    }
    assertObject(call, value, want);
    return value;
  }

  #takeObservations(rows: Rows): void {
    const { numEnvs } = this;
    const { size } = this.singleObservationSpace;
    const { observations } = this.#step;
    if (typeof rows !== "object" || (rows as Rows | null) === null)
      throw this.#bad(`returned observations as ${show(rows)}; return [${numEnvs}, ${size}]`);
    const isNested = typeof rows[0] === "object";
    const lists = isNested ? (rows as readonly ArrayLike<number>[]) : [rows as ArrayLike<number>];
    if (isNested && rows.length !== numEnvs)
      throw this.#bad(`returned observations of ${rows.length} rows; return [${numEnvs}, ${size}]`);
    const wanted = isNested ? size : numEnvs * size;
    const other = Array.from(lists, (list) => list?.length).findIndex((length) => length !== wanted);
    if (other >= 0) {
      const found = isNested ? `${rows.length} rows, row ${other} of ${lists[other]?.length}` : rows.length;
      throw this.#bad(`returned observations of ${found} numbers; return [${numEnvs}, ${size}]`);
    }
    lists.forEach((list, row) => {
      for (let i = 0; i < wanted; i++) {
        if (typeof list[i] === "number") continue;
        const [world, entry] = isNested ? [row, i] : [Math.floor(i / size), i % size];
        throw this.#bad(`returned observation ${entry} of world ${world} as ${show(list[i])}; return a number`);
      }
    });
    lists.forEach((list, row) => observations.set(list, row * size));
    const bad = observations.findIndex((x) => !Number.isFinite(x));
    if (bad >= 0)
      throw this.#bad(
        `returned observation ${bad % size} of world ${Math.floor(bad / size)} as ${observations[bad]}; return finite numbers of float32`,
      );
    const stride = this.#obs.length / numEnvs;
    for (let w = 0; w < numEnvs; w++) this.#obs.set(observations.subarray(w * size, (w + 1) * size), w * stride);
  }

  /** Results of a step; returns and lengths of episodes are counted here. */
  #takeResults({ rewards, terminated, truncated }: JsVecStep): void {
    const { numEnvs } = this;
    for (const [name, list] of Object.entries({ rewards, terminated, truncated }))
      if (list?.length !== numEnvs)
        throw this.#bad(`returned ${list?.length ?? show(list)} ${name} for ${numEnvs} worlds; return one for each`);
    const flags: readonly unknown[] = [true, false, 0, 1];
    for (let w = 0; w < numEnvs; w++) {
      const row = this.#result.subarray(w * RESULT_WORDS, (w + 1) * RESULT_WORDS);
      for (const [name, list] of Object.entries({ terminated, truncated }))
        if (!flags.includes(list[w]))
          throw this.#bad(`returned ${show(list[w])} as ${name} of world ${w}; return true or false`);
      const starts = row[WORD.terminated] + row[WORD.truncated] > 0;
      if (starts && (terminated[w] || truncated[w]))
        throw this.#bad(
          `ended the episode of world ${w} in the step that starts it: after a last step the next one resets (autoreset "next-step"); return false there`,
        );
      const reward = starts ? 0 : rewards[w];
      if (typeof reward !== "number" || !Number.isFinite(Math.fround(reward)))
        throw this.#bad(`returned the reward ${show(reward)} in world ${w}; return a finite number (of float32)`);
      row[WORD.reward] = this.#step.rewards[w] = reward;
      row[WORD.terminated] = this.#step.terminated[w] = Number(terminated[w]);
      row[WORD.truncated] = this.#step.truncated[w] = Number(truncated[w]);
      row[WORD.reset] = Number(starts);
      row[WORD.episode_return] = starts ? 0 : row[WORD.episode_return] + reward;
      row[WORD.episode_length] = starts ? 0 : row[WORD.episode_length] + 1;
    }
  }

  async reset(options: { readonly seed?: number | bigint } = {}): Promise<LearnerStep> {
    const { observations } = await this.#called("reset", () => this.#own.reset(options), "{ observations }");
    this.#takeObservations(observations);
    this.#result.fill(0);
    this.#step.rewards.fill(0);
    this.#step.terminated.fill(0);
    this.#step.truncated.fill(0);
    this.#wasReset = true;
    return this.#step;
  }

  step(actions: ArenaView | Actions, options: { readonly readback: false }): Promise<undefined>;
  step(actions: ArenaView | Actions): Promise<LearnerStep>;
  async step(actions: ArenaView | Actions): Promise<LearnerStep | undefined> {
    if (!this.#wasReset)
      throw new CorralError("needs-reset", `${this.id} was not reset yet. Call reset() before step().`);
    if (actions !== this.wasm.actions) this.#actions.set(actions as Actions);
    else await this.readActions();
    const want = "{ observations, rewards, terminated, truncated }";
    const step = await this.#called("step", () => this.#own.step(this.#actions), want);
    this.#takeObservations(step.observations);
    this.#takeResults(step);
    return this.#step;
  }

  stepOnDevice(): Promise<never> {
    return Promise.reject(new CorralError("needs-gpu", `${this.id} steps in JavaScript: call step().`));
  }

  async readActions(): Promise<Float32Array | Int32Array> {
    const words =
      this.#actions instanceof Float32Array
        ? new Float32Array(this.#action.buffer)
        : new Int32Array(this.#action.buffer);
    const [stride, size] = [words.length / this.numEnvs, this.singleActionSpace.size];
    for (let w = 0; w < this.numEnvs; w++) this.#actions.set(words.subarray(w * stride, w * stride + size), w * size);
    return this.#actions;
  }

  #arenas(): Float32Array<ArrayBuffer>[] {
    return [this.#obs, this.#result];
  }

  async snapshot(): Promise<JsSnapshot> {
    if (!this.#own.save || !this.#own.load)
      throw new CorralError(
        "bad-snapshot",
        `${this.id} has no save() and load(saved): the run can be resumed only with both. Add them, with all that its future depends on as plain data.`,
      );
    const saved = savedBy({ id: this.id, place: "save" }, () => this.#own.save!());
    const words = new Uint32Array(this.#obs.length + this.#result.length);
    let at = 0;
    for (const arena of this.#arenas()) {
      words.set(new Uint32Array(arena.buffer), at);
      at += arena.length;
    }
    return { words, wasReset: this.#wasReset, saved: JSON.stringify(saved) };
  }

  async restore(snapshot: EnvSnapshot): Promise<void> {
    const { words, wasReset, saved } = snapshot as JsSnapshot;
    if (!this.#own.load || typeof saved !== "string" || words.length !== this.#obs.length + this.#result.length)
      throw new CorralError(
        "bad-snapshot",
        `the snapshot is of other worlds than ${this.numEnvs} of ${this.id}. Pass one that these made.`,
      );
    calling({ id: this.id, place: "load" }, () => this.#own.load!(JSON.parse(saved)));
    let at = 0;
    for (const arena of this.#arenas()) {
      new Uint32Array(arena.buffer).set(words.subarray(at, at + arena.length));
      at += arena.length;
    }
    this.#wasReset = wasReset;
    this.#show();
  }

  /** What calls returned, from the arenas. */
  #show(): void {
    const { numEnvs } = this;
    const { size } = this.singleObservationSpace;
    const stride = this.#obs.length / numEnvs;
    const { observations, rewards, terminated, truncated } = this.#step;
    for (let w = 0; w < numEnvs; w++) {
      observations.set(this.#obs.subarray(w * stride, w * stride + size), w * size);
      const row = this.#result.subarray(w * RESULT_WORDS);
      rewards[w] = row[WORD.reward];
      terminated[w] = row[WORD.terminated];
      truncated[w] = row[WORD.truncated];
    }
  }

  async close(): Promise<void> {
    await this.#own.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
