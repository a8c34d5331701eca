// watches the worlds of an environment: counts what goes wrong, and has bundles written of it
import { CorralError } from "../../core/errors.ts";
import { warn as hostWarn } from "../../core/host.ts";
import { checked, listOf } from "../../core/options.ts";
import { text } from "../../core/schema.ts";
import { printable } from "../../core/show.ts";
import type { BundleParts, EnvFacts, TrippedWorld } from "../../record/bundle.ts";
import { Recorder } from "../../record/recorder.ts";
import type { DriftMonitor, DriftSample } from "../../monitor/drift.ts";
import { AFTER, BEFORE } from "../../monitor/kernels.ts";
import { locateWorld } from "../../memory/shards.ts";
import { describe } from "../../model/model.ts";
import type { Batch } from "../../batch/batch.ts";
import { statusNames } from "../../physics/status.ts";
import { Health, type HealthReport } from "./health.ts";
import type { EnvSpec } from "../kernel/env-kernel.ts";
import { CONTACTS_NEEDED, RESULT, resultOffsets, STATES } from "../kernel/layout.ts";
import { NON_FINITE, OVERFLOW, type Settings } from "./options.ts";
import type { HostRows } from "./results.ts";
import { ownNumbers } from "../task/shape.ts";
import type { Space } from "../space/spaces.ts";
import { EPOCH, FIRST_TRIP, judgedTerms, MOST_TERMS, nextEpoch } from "../kernel/trips.ts";

/** Name of what trips the recorder if a world is further from MuJoCo than the monitor's threshold. */
const DRIFT = "drift";
/** Kinds of failures share the bundles: each kind gets a quarter of them at most. */
const KINDS = 4;

export class Watch {
  readonly recorder: Recorder | undefined;
  readonly #monitor: DriftMonitor | undefined;
  readonly #spec: EnvSpec;
  readonly #batch: Batch;
  readonly #settings: Settings<object>;
  readonly #worldIds: readonly number[];
  readonly #health = new Health();
  /** Status bits that write a bundle. */
  readonly #triggers: number;
  /** Status of each world when it was last looked at: a world that stays bad trips once. */
  readonly #last: Float64Array;
  readonly #written = new Map<string, number>();
  /** Steps since results were last read. */
  #unread = 0;
  #epoch = 1;
  /** The last step that the monitor's kernels have copied and that has not been compared yet. */
  #watched: number | undefined;

  constructor(
    spec: EnvSpec,
    batch: Batch,
    settings: Settings<object>,
    worldIds: readonly number[],
    monitor: DriftMonitor | undefined,
  ) {
    const { vec } = settings;
    this.#spec = spec;
    this.#batch = batch;
    this.#settings = settings;
    this.#worldIds = worldIds;
    this.#monitor = monitor;
    const trips = spec.trips.reduce((bits, _, i) => bits | (FIRST_TRIP << i), 0);
    this.#triggers = NON_FINITE | (vec.onOverflow === "ignore" ? 0 : OVERFLOW) | trips;
    this.#last = new Float64Array(worldIds.length);
    const kept = STATES.filter((name) => batch.planned.plan.arenas.some((a) => a.name === name));
    if (vec.recorder) this.recorder = new Recorder(batch, kept, vec.recorder);
  }

  /** Kernels to run in the submission of the next step, before the step's own. */
  before(steps: number): string[] {
    this.#unread++;
    return [...(this.recorder?.before(steps) ?? []), ...(this.#monitor?.isDue(steps) ? [BEFORE] : [])];
  }

  /** Kernels to run after the step's own, `steps` control steps having been made before it. */
  after(steps: number): string[] {
    if (!this.#monitor?.isDue(steps)) return [];
    this.#watched = steps + 1;
    return [AFTER];
  }

  /** Returns a function that takes back the steps since, where they are not submitted after all. */
  mark(): () => void {
    const unread = this.#unread;
    const watched = this.#watched;
    const undo = this.recorder?.mark();
    return () => {
      this.#unread = unread;
      this.#watched = watched;
      undo?.();
    };
  }

  /** The state is changed by something other than a step. */
  changed(): void {
    this.recorder?.cut();
  }

  /** Throws `not-recorded` if a control step cannot be gone back to. */
  assertRecorded(step: number, now: number): void {
    const { recorder } = this;
    const first = recorder?.settings.worlds === "all" ? recorder.segments[0]?.start : undefined;
    if (first !== undefined && Number.isInteger(step) && step > first && step <= now) return;
    const text =
      first === undefined
        ? "nothing is recorded: make the environment with a recorder of all worlds, and step it"
        : `steps ${first + 1} to ${now} are recorded. Pass one of them, or make the recorder longer (everySteps, keep)`;
    const id = this.#spec.task.id;
    throw new CorralError("not-recorded", `${id} cannot seek to control step ${String(step)}: ${text}.`, {
      step,
      first,
      now,
    });
  }

  /** Queues the way to a recorded control step: the state before it, and the steps that lead there. */
  seek(step: number): void {
    const { start, steps, params, replay } = this.recorder!.rewind(step);
    for (const [name, value] of Object.entries(params)) this.#batch.setParam(name, value);
    for (let k = 0; k < steps; k++) {
      replay(k);
      this.#batch.run(...this.recorder!.before(start + k), "step");
    }
  }

  /** What a snapshot brought is no news. */
  forget(): void {
    // a step must not find its own epoch in what was put back
    this.#epoch = nextEpoch(this.#batch.params()[EPOCH]);
    this.#batch.setParam(EPOCH, this.#epoch);
    this.#unread = 0;
    this.#last.fill(0);
    this.changed();
  }

  health(steps: number): HealthReport {
    return this.#health.report(steps, this.#monitor?.report());
  }

  /**
   * What the monitor says of the last step that was due, `steps` having been queued so far; undefined if none was.
   * Worlds beyond its threshold trip the recorder.
   */
  async check(steps: number): Promise<readonly DriftSample[] | undefined> {
    const step = this.#watched;
    if (step === undefined) return undefined;
    this.#watched = undefined;
    const samples = await this.#monitor!.check(step);
    const tripped = samples
      .filter(({ beyond }) => beyond)
      .map(({ world }) => ({ world, id: this.#worldIds[world], names: [DRIFT], terms: [], step }));
    for (const world of tripped) this.#health.add(world, 1);
    if (tripped.length > 0) await this.#write(tripped, steps);
    return samples;
  }

  /** Frees what is held beside the batch. */
  close(): void {
    this.#monitor?.delete();
  }

  /** Writes a bundle of worlds that did not fail. Returns its path; undefined if it was not written. */
  async record(worlds: readonly number[], reason: string, steps: number): Promise<string | undefined> {
    for (const world of listOf("worlds", worlds)) locateWorld(this.#batch.planned.plan, world);
    checked("reason", text(), reason);
    const before = this.#health.report(steps).bundles.length;
    const asked = worlds.map((world) => ({
      world,
      id: this.#worldIds[world],
      names: [reason],
      terms: [],
      step: steps,
    }));
    if (asked.length > 0) await this.#write(asked, steps);
    return this.#health.report(steps).bundles[before];
  }

  /** Looks at results that were just read, `steps` control steps after the start. */
  async look(result: HostRows, steps: number): Promise<void> {
    const unread = this.#unread;
    this.#unread = 0;
    if (unread === 0) return;
    this.#epoch = nextEpoch(this.#epoch);
    this.#batch.setParam(EPOCH, this.#epoch);
    const { data, stride, numEnvs } = result;
    const tripped: TrippedWorld[] = [];
    for (let world = 0, at = 0; world < numEnvs; world++, at += stride) {
      const bits = data[at + RESULT.trip_status];
      if (bits === 0) {
        this.#last[world] = 0;
        continue;
      }
      const failed = this.#describe(world, data.subarray(at, at + stride), steps - unread + 1);
      this.#health.add(failed, data[at + RESULT.trips]);
      if (bits & this.#triggers & ~this.#last[world]) tripped.push(failed);
      this.#last[world] = bits;
    }
    if (tripped.length > 0) await this.#write(tripped, steps);
  }

  /** Counts worlds whose start, made by a call of `reset` after this many steps, cannot be observed. */
  lookAtStarts(result: HostRows, worlds: readonly number[], steps: number): void {
    const failed = worlds.map((world) => {
      const row = result.data.subarray(world * result.stride, (world + 1) * result.stride);
      return { ...this.#describe(world, row, steps), names: statusNames(row[RESULT.status]), step: steps };
    });
    for (const world of failed) this.#health.add(world, 1);
    if (failed.length === 0) return;
    const more = failed.length > 1 ? ` and ${failed.length - 1} more worlds` : "";
    const [{ world, id, terms, names }] = failed;
    const why = terms.length > 0 ? `${terms.join(", ")} is not finite` : names.join(", ") || "it is not finite";
    const message = `${this.#spec.task.id}: the start of world ${world} (id ${id})${more} cannot be observed: ${why}.`;
    this.#missed(steps, "not-recorded", "what a call of reset makes is not recorded", message);
  }

  #describe(world: number, row: ArrayLike<number>, firstStep: number): TrippedWorld {
    const { shape, trips } = this.#spec;
    const bits = row[RESULT.trip_status];
    const parts = judgedTerms(shape, trips);
    const terms = parts.filter((_, i) => i < MOST_TERMS && Math.floor(row[RESULT.bad_terms] / 2 ** i) % 2 === 1);
    return {
      world,
      id: this.#worldIds[world],
      names: [...statusNames(bits), ...trips.filter((_, i) => bits & (FIRST_TRIP << i)).map(({ name }) => name)],
      terms,
      step: firstStep + row[RESULT.trip_at],
    };
  }

  /** Writes a bundle of worlds that tripped. If that fails, the run continues and a warning says why. */
  async #write(tripped: readonly TrippedWorld[], steps: number): Promise<void> {
    const { recorder } = this;
    if (!recorder) return;
    const { maxBundles, maxWorlds, save } = recorder.settings;
    const [{ segments }] = [recorder];
    const reaches = segments[0]?.start ?? Infinity;
    const known = tripped.filter(({ world, step }) => recorder.has(world) && step > reaches).slice(0, maxWorlds);
    const [first] = known.length > 0 ? known : tripped;
    const message = describeTrip(this.#spec.task.id, tripped, first);
    const kind = kindOf(first.names);
    const all = [...this.#written.values()].reduce((sum, n) => sum + n, 0);
    const refusal =
      known.length === 0
        ? recorder.has(first.world)
          ? [
              "not-recorded",
              reaches >= steps
                ? "no control step is recorded yet; step first"
                : `the recorder reaches back to step ${reaches}; read results more often, or raise keep`,
            ]
          : ["not-recorded", `world ${first.world} is none of recorder.worlds`]
        : all >= maxBundles || (this.#written.get(kind) ?? 0) >= Math.ceil(maxBundles / KINDS)
          ? ["bundle-limit", `recorder.maxBundles is ${maxBundles}, and a quarter of it for each kind of failure`]
          : undefined;
    if (refusal) return this.#missed(steps, refusal[0], refusal[1], message);

    try {
      const worlds = known.map(({ world }) => world);
      const recording = await recorder.capture(worlds, ["obs", "result"]);
      const name = `${this.#spec.task.id.replace(/[^\w.-]/g, "_").slice(0, 64)}-step${first.step}-world${first.id}`;
      const { writeBundle } = await import("../../record/bundle.ts");
      const path = await writeBundle(recorder.settings, name, { ...this.#parts(), message, tripped: known, recording });
      this.#written.set(kind, (this.#written.get(kind) ?? 0) + 1);
      this.#health.wrote(path);
      const where = save === undefined ? path : `${path}, given to recorder.save`;
      warn("corral-crash", `${message} Bundle: ${where}. Run: corral replay ${path} --bisect`);
    } catch (error) {
      // a lost device is reported by every call
      const known = error instanceof CorralError && error.code.startsWith("bundle-");
      if (!known) throw error;
      this.#missed(steps, error.code, error.message, message);
    }
  }

  #missed(steps: number, code: string, reason: string, message: string): void {
    if (this.#health.missed(steps, code, reason))
      warn("corral-crash", `${message} No bundle was written: ${reason.replace(/\.$/, "")}.`);
  }

  #parts(): Omit<BundleParts, "tripped" | "recording" | "message"> {
    const { vec, finite } = this.#settings;
    const { task, options, model, shape, action, nconmax, trips } = this.#spec;
    const { driven } = shape.actuators;
    const offsets = resultOffsets(shape);
    const needed = shape.infos.indexOf(CONTACTS_NEEDED);
    const env: EnvFacts = {
      id: task.id,
      options: options as Record<string, unknown>,
      numEnvs: this.#worldIds.length,
      seed: vec.seed ?? 0,
      autoreset: vec.autoreset,
      frameSkip: vec.frameSkip,
      maxEpisodeSteps: Number.isFinite(vec.maxEpisodeSteps) ? vec.maxEpisodeSteps : null,
      nconmax,
      unroll: this.#batch.planned.kernels.get("step")!.form.unroll,
      onNonFinite: vec.onNonFinite,
      onOverflow: vec.onOverflow,
      finite,
      actionSize: action.size,
      actionKind: action.kind === "box" ? "box" : "discrete",
      ...endsOf(action),
      rewards: shape.terms,
      observation: shape.observation,
      trips: trips.map(({ name }) => name),
      own: ownNumbers(shape),
      ...(driven.length > 0 ? { actuators: driven.map(({ actuator }) => describe(model, "actuator", actuator)) } : {}),
      result: { ...RESULT, ...offsets, ...(needed < 0 ? {} : { contacts_needed: offsets.infos + needed }) },
    };
    const precision = this.#batch.adapter ? "gpu" : vec.device === "cpu-f64" ? "f64" : "f32";
    return { batch: this.#batch, model, env, precision, worldIds: this.#worldIds };
  }
}

/** The bounds of a space. */
function endsOf(space: Space): { actionLow: readonly number[]; actionHigh: readonly number[] } {
  if (space.kind === "box") return { actionLow: Array.from(space.low), actionHigh: Array.from(space.high) };
  if (space.kind === "discrete") return { actionLow: [space.start], actionHigh: [space.start + space.n - 1] };
  return { actionLow: Array.from(space.nvec, () => 0), actionHigh: Array.from(space.nvec, (n) => n - 1) };
}

/** What sort of failure it is; the bits of one differ from world to world. */
function kindOf(names: readonly string[]): string {
  if (names.some((name) => name.startsWith("BAD_Q"))) return "physics";
  const first = names[0];
  return /^BAD_(REWARD|OBS)$/.test(first) ? "task" : first;
}

function describeTrip(id: string, tripped: readonly TrippedWorld[], first: TrippedWorld): string {
  const more = tripped.length > 1 ? ` and ${tripped.length - 1} more worlds` : "";
  const terms = first.terms.length > 0 ? ` (${first.terms.join(", ")})` : "";
  return `${id}: world ${first.world} (id ${first.id})${more} tripped in control step ${first.step}: ${first.names.join(", ")}${terms}.`;
}

const warn = (code: string, text: string): void => hostWarn(printable(text), code, "CorralWarning");
