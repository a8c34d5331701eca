// what is shown, and the clock that moves it: steps while it plays and a page looks, and hands out the last frame
import { Mismatch, anyNumber, integer, object, oneOf, optional, vector } from "../core/schema.ts";
import { CorralError } from "../core/errors.ts";
import { waitLoosely } from "../core/host.ts";
import type { Poses } from "../render/show.ts";
import { encodeFrame, type Command, type Facts, type WorldValues } from "./messages.ts";

/** Worlds that can be looked at. Calls do not overlap. */
export interface Subject extends AsyncDisposable {
  readonly facts: Facts;
  readonly step: number;
  readonly time: number;
  readonly actor: string;
  readonly back: number;
  readonly plots: Readonly<Record<string, number>>;
  /** Which step this is, in words. */
  readonly at?: string;
  readonly values?: readonly WorldValues[];
  poses(): Promise<Poses>;
  /** One control step; false at the end of a recording. */
  forward(): Promise<boolean>;
  /** One back; false where none is kept. */
  backward(): Promise<boolean>;
  act(command: Command): Promise<void>;
}

const commandKind = object<Command>({
  do: oneOf(
    "play",
    "pause",
    "step",
    "back",
    "reset",
    "speed",
    "actor",
    "slider",
    "drag",
    "release",
    "keyframe",
    "seek",
    "world",
    "contacts",
  ),
  value: optional(anyNumber),
  index: optional(integer(0)),
  world: optional(integer(0)),
  body: optional(integer(0)),
  point: optional(vector(3)),
  target: optional(vector(3)),
});

/** Pages wait so long for a frame before they ask again (ms). */
const PATIENCE_MS = 15_000;
/** Steps go on so long after the last page has asked (ms). */
const LOOKED_MS = 2000;
const SPEEDS = [0.01, 10] as const;

export class Session implements AsyncDisposable {
  readonly #subject: Subject;
  readonly #waiting = new Set<() => void>();
  #frame: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #serial = 0;
  #paused: boolean;
  #speed = 1;
  #said: string | undefined;
  #looked = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #due = 0;
  /** Calls of the subject, one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(subject: Subject, paused = false) {
    this.#subject = subject;
    this.#paused = paused;
  }

  get facts(): Facts {
    return this.#subject.facts;
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const next = this.#last.then(call);
    this.#last = next.catch(() => {});
    return next;
  }

  /** The next frame after one that is known, as bytes; undefined if there is none for a while. */
  async frame(after: number, gone?: AbortSignal): Promise<Uint8Array | undefined> {
    this.#looked = performance.now();
    if (this.#serial === 0) await this.#inTurn(() => this.#publish());
    this.#plan();
    if (this.#serial !== after) return this.#frame;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = waitLoosely(done, PATIENCE_MS);
      gone?.addEventListener("abort", done);
      this.#waiting.add(done);
    });
    this.#looked = performance.now();
    return this.#serial === after ? undefined : this.#frame;
  }

  /** Does what a page asks. Throws `bad-command` and what the worlds throw. */
  command(given: unknown): Promise<void> {
    let command: Command;
    try {
      command = commandKind.read(given, []);
    } catch (error) {
      if (error instanceof Mismatch) throw new CorralError("bad-command", `a command: ${error.message}.`);
      throw error;
    }
    return this.#inTurn(async () => {
      this.#said = undefined;
      const { do: what, value = 0 } = command;
      if (what === "pause" || what === "play") this.#paused = what === "pause";
      else if (what === "speed") this.#speed = Math.min(SPEEDS[1], Math.max(SPEEDS[0], value));
      else if (what === "step" || what === "back") {
        this.#paused = true;
        await (what === "step" ? this.#subject.forward() : this.#subject.backward());
      } else await this.#subject.act(command);
      await this.#publish();
      this.#plan();
    });
  }

  async #publish(): Promise<void> {
    const poses = await this.#subject.poses();
    const { step, time, actor, plots, back, at, values } = this.#subject;
    const more = {
      ...(this.#said === undefined ? {} : { said: this.#said }),
      ...(at === undefined ? {} : { at }),
      ...(values === undefined ? {} : { values }),
    };
    const facts = {
      serial: ++this.#serial,
      step,
      time,
      actor,
      plots,
      back,
      paused: this.#paused,
      speed: this.#speed,
      ...more,
    };
    this.#frame = encodeFrame({ facts, poses });
    for (const done of this.#waiting) done();
  }

  /** The next step at its time, if there is to be one. */
  #plan(): void {
    if (this.#paused || this.#closed || this.#timer !== undefined) return;
    const now = performance.now();
    if (now - this.#looked > LOOKED_MS) return;
    this.#due = Math.max(this.#due + (1000 * this.facts.dt) / this.#speed, now);
    this.#timer = setTimeout(() => void this.#tick(), this.#due - now);
  }

  async #tick(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#paused || this.#closed) return;
      try {
        if (!(await this.#subject.forward())) this.#paused = true;
      } catch (error) {
        this.#paused = true;
        this.#said = error instanceof Error ? error.message : String(error);
      }
      await this.#publish();
    }).catch((error: unknown) => {
      this.#paused = true;
      this.#said = String(error);
    });
    this.#timer = undefined;
    this.#plan();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const done of this.#waiting) done();
    await this.#last;
    await this.#subject[Symbol.asyncDispose]();
  }
}
