// chosen worlds of a batch beside MuJoCo in float64, a control step now and then: the error before it becomes a NaN
import type { ModelChange } from "../model/model-data.ts";
import type { Model } from "../model/model.ts";
import type { Batch } from "../batch/batch.ts";
import { interpreted, type Interpretation, type Interpreted, type RunOptions } from "../trace/interpret.ts";
import type { Precision } from "../trace/javascript.ts";
import { DrivenActuators } from "./driven.ts";
import { inputsOf, PHYSICS_BEGINS, type Inputs } from "./inputs.ts";
import { worldState } from "./mujoco-world.ts";
import type { MonitorSettings } from "./options.ts";
import { fieldIn, peek, type Peek } from "./peek.ts";
import { Shadow, type Drive } from "./shadow.ts";

/** The error of one control step of a world, from the same state. */
export interface DriftSample {
  /** Control step of the batch, counted from 1. */
  readonly step: number;
  readonly world: number;
  /** Distance from MuJoCo, |x - ref| / (1 + max |ref|). */
  readonly qpos: number;
  readonly qvel: number;
  /** Within the bounds that single steps are held to, or no larger than MuJoCo's own change under 1e-7. */
  readonly ok: boolean;
  /** Larger than the threshold. */
  readonly beyond: boolean;
}

export interface DriftReport {
  /** Checks so far; those that were not ok, and those beyond the threshold. */
  readonly checks: number;
  readonly notOk: number;
  readonly beyond: number;
  readonly worst: DriftSample | undefined;
  /** The last checks. */
  readonly samples: readonly DriftSample[];
}

/** What is monitored. */
export interface Monitored {
  readonly batch: Batch;
  readonly model: Model;
  readonly frameSkip: number;
  /** Arenas that a step starts from, and the action's. */
  readonly arenas: readonly string[];
  /** Numbers of the model that worlds have of their own, and the field that holds them. */
  readonly own: readonly Omit<ModelChange, "value">[];
  readonly ownField: string;
  readonly precision: Precision;
}

/** Checks that are kept; the worst is kept of all. */
const KEPT = 64;

const errorOf = ({ qpos, qvel }: DriftSample): number => Math.max(qpos, qvel);

export class DriftMonitor {
  readonly settings: MonitorSettings;
  readonly #of: Monitored;
  readonly #shadow: Shadow;
  /** Made at the first check. */
  #program: Interpreted | undefined;
  readonly #driven: DrivenActuators | undefined;
  #counts = { checks: 0, notOk: 0, beyond: 0 };
  #samples: DriftSample[] = [];
  #worst: DriftSample | undefined;

  private constructor(of: Monitored, settings: MonitorSettings, shadow: Shadow, driven?: DrivenActuators) {
    this.#of = of;
    this.#driven = driven;
    this.settings = settings;
    this.#shadow = shadow;
  }

  /** Throws `mujoco-memory`. `delete()` it. */
  static async create(of: Monitored, settings: MonitorSettings): Promise<DriftMonitor> {
    const driven = DrivenActuators.in(of.batch.planned.traces.get("step")!, of.model);
    const shadow = await Shadow.create(of.model, of.frameSkip, driven?.forceLimited);
    return new DriftMonitor(of, settings, shadow, driven);
  }

  /** Whether the step after `steps` control steps is checked. */
  isDue(steps: number): boolean {
    return steps % this.settings.everySteps === 0;
  }

  /** Compares the last step that was copied, the batch's `step`th; worlds that it reset are left out. */
  async check(step: number): Promise<DriftSample[]> {
    const peeks = await peek(this.#of.batch, this.#of.arenas, this.settings);
    const samples = peeks.flatMap(({ before, after }) => this.#check(before, after, step) ?? []);
    for (const sample of samples) {
      this.#counts.checks++;
      if (!sample.ok) this.#counts.notOk++;
      if (sample.beyond) this.#counts.beyond++;
      if (!this.#worst || errorOf(sample) > errorOf(this.#worst)) this.#worst = sample;
    }
    this.#samples = [...this.#samples, ...samples].slice(-KEPT);
    return samples;
  }

  report(): DriftReport {
    return { ...this.#counts, worst: this.#worst, samples: [...this.#samples] };
  }

  #check(from: Peek, to: Peek, step: number): DriftSample | undefined {
    const episode = (p: Peek) => fieldIn(p, "episode").slice(0, 4);
    if (!episode(from).every((x, i) => x === episode(to)[i])) return undefined;
    const inputs = this.#inputs(from);
    if (!inputs) return undefined;
    const { own, ownField, batch } = this.#of;
    const values = fieldIn(from, ownField);
    this.#shadow.become(
      own.map((number, i) => ({ ...number, value: values[i] })),
      batch.params(),
    );
    const { ctrl, kick, eq_active, ...forces } = inputs;
    const start = worldState((name) => fieldIn(from, name), ctrl);
    const state = { ...start, eq_active, qvel: start.qvel.map((v, i) => v + kick[i]) };
    const after = { qpos: fieldIn(to, "qpos"), qvel: fieldIn(to, "qvel") };
    const driven = this.#driven;
    const drive: Drive = (motion, physics) => {
      driven!.forget();
      // the state has the kick already
      const kick = (values: Float64Array) => values.fill(0);
      const step = { from: motion, recorded: motion.qvel, nstep: this.#of.frameSkip, kick };
      driven!.step((options) => this.#interpret(from, options), step, physics);
    };
    const found = this.#shadow.check(state, forces, after, driven && drive);
    const beyond = !(Math.max(found.qpos, found.qvel) <= this.settings.threshold);
    return { step, world: from.world, ...found, beyond };
  }

  #inputs(from: Peek): Inputs | undefined {
    return inputsOf(this.#of.model, fieldIn(from, "qvel"), this.#interpret(from, { until: PHYSICS_BEGINS }));
  }

  #interpret({ buffers, lane }: Peek, options: RunOptions): Interpretation {
    const { batch, precision } = this.#of;
    const { spec, traces } = batch.planned;
    const now = batch.params();
    const params = Float64Array.of(lane + 1, 0, ...spec.params.map(({ name }) => now[name]));
    // the kernel writes into its buffers
    const own = Object.fromEntries(Object.entries(buffers).map(([name, values]) => [name, values.slice()]));
    this.#program ??= interpreted(traces.get("step")!, precision);
    return this.#program({ buffers: own, params }, { world: lane, ...options });
  }

  /** Frees MuJoCo's side. */
  delete(): void {
    this.#shadow.delete();
  }
}
