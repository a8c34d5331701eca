// one world that steps in the user's own JavaScript: what it must have, and checks of all that it returns
import { alternatives } from "../core/names.ts";
import { assertRow, badReturn, calling, objectOf, savedBy, type Call } from "../core/returned.ts";
import type { RandomStream } from "../core/rng.ts";
import { inLine, show } from "../core/show.ts";

/** The start of an episode. */
export interface JsStart {
  readonly world: number;
  /** Counts the world's episodes. */
  readonly episode: number;
  /** Draws of this seed, world and episode by their index: the same whatever other worlds do, and however often they are asked for. */
  readonly random: RandomStream;
}

export interface JsStep {
  readonly observation: ArrayLike<number>;
  readonly reward: number;
  /** Default: false. */
  readonly terminated?: boolean;
  /** Default: false; the time limit of the environment is kept without it. */
  readonly truncated?: boolean;
}

/** One world. Its calls return at once: promises are refused. */
export interface JsWorld {
  /** Starts an episode; returns its first observation. */
  reset(start: JsStart): ArrayLike<number>;
  /** `action` is valid during the call. */
  step(action: Float32Array | Int32Array): JsStep;
  /** Plain data (what JSON holds) that the world's future depends on. */
  save?(): unknown;
  load?(saved: unknown): void;
}

const FIELDS = ["observation", "reward", "terminated", "truncated"] as const satisfies (keyof JsStep)[];

/**
 * A world whose results are checked: what is wrong is `bad-env` with the environment, the call and the world. Observations
 * are copies: a world may write into one array with each step, and so may several into the same one.
 */
export class CheckedWorld {
  readonly own: JsWorld;
  readonly #reset: Call;
  readonly #step: Call;
  readonly #observations: number;

  constructor(id: string, world: number, observations: number, make: (world: number) => JsWorld) {
    const call = { id, world, place: "makeWorld" };
    this.own = objectOf(call, () => make(world), "an object with reset and step");
    for (const name of ["reset", "step"] as const)
      if (typeof this.own[name] !== "function")
        throw badReturn(call, `${name} of the world is ${show(this.own[name])}; make it a function`);
    this.#reset = { id, world, place: "reset" };
    this.#step = { id, world, place: "step" };
    this.#observations = observations;
  }

  reset(start: JsStart): ArrayLike<number> {
    const want = `a list of ${this.#observations} numbers`;
    const observation = objectOf(this.#reset, () => this.own.reset(start), want);
    assertRow(this.#reset, "observation", observation, this.#observations);
    return Array.from(observation);
  }

  /** Whether snapshots can be taken of it. */
  get isSaved(): boolean {
    return [this.own.save, this.own.load].every((call) => typeof call === "function");
  }

  save(): unknown {
    return savedBy({ ...this.#step, place: "save" }, () => this.own.save!());
  }

  load(saved: unknown): void {
    calling({ ...this.#step, place: "load" }, () => this.own.load!(saved));
  }

  step(action: Float32Array | Int32Array): Required<JsStep> {
    const call = this.#step;
    const made = objectOf(call, () => this.own.step(action), "{ observation, reward, terminated }");
    // a misspelt end would never come
    const other = Object.keys(made).find((name) => !(FIELDS as readonly string[]).includes(name));
    if (other !== undefined)
      throw badReturn(call, `a step has no field "${inLine(other)}"; ${alternatives(other, FIELDS).hint}`);
    const { observation, reward, terminated = false, truncated = false } = made;
    assertRow(call, "observation", observation, this.#observations);
    if (typeof reward !== "number" || !Number.isFinite(Math.fround(reward)))
      throw badReturn(call, `reward is ${show(reward)}; return a finite number (of float32)`);
    const bad =
      typeof terminated !== "boolean" ? "terminated" : typeof truncated !== "boolean" ? "truncated" : undefined;
    if (bad) throw badReturn(call, `${bad} is ${show(made[bad])}; return true or false`);
    return { observation: Array.from(observation), reward, terminated, truncated };
  }
}
