// what acts in each physics step where actuators go with the state: the program of the control step says it, here or in a bundle
import type { Model } from "../model/model.ts";
import { DRIVEN_STAGE, drivenIn, type DrivenWord } from "../physics/actuator/driven-names.ts";
import { stagesIn } from "../trace/cut.ts";
import type { Trace } from "../trace/graph.ts";
import type { Interpretation, RunOptions, Visited } from "../trace/interpret.ts";
import { PHYSICS_BEGINS, readInputs, type Inputs } from "./inputs.ts";

/** A number of the model that goes with state and draws of a world. */
export interface DrivenNumber {
  readonly field: "actuator_forcerange" | "actuator_biasprm";
  readonly index: number;
  readonly value: number;
}

/** What acts in a physics step. */
export interface DrivenInputs extends Inputs {
  readonly numbers: readonly DrivenNumber[];
}

/** What actuators act from. */
interface Motion {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
}

/** A physics step with what acts in it. Returns the state after it; undefined where no other follows. */
type Physics = (inputs: DrivenInputs, step: number) => Motion | undefined;

interface Named {
  readonly name: string;
  readonly actuator: number;
  readonly word: DrivenWord;
}

export interface DrivenStep {
  /** The state to begin with. */
  readonly from: Motion;
  /** The velocities that the program begins with. */
  readonly recorded: Float64Array;
  readonly nstep: number;
  /** Whether the program makes the step that it made last: controls are past by then, and there is no other kick. */
  readonly again?: boolean;
  /** What becomes of changes of velocity that events make; default: they are made. */
  readonly kick?: (values: Float64Array) => Float64Array;
}

/** The label of the loop over physics steps. */
const STEPS = "steps";

const NUMBERS: Partial<Record<DrivenWord, (actuator: number) => Omit<DrivenNumber, "value">>> = {
  low: (actuator) => ({ field: "actuator_forcerange", index: 2 * actuator }),
  high: (actuator) => ({ field: "actuator_forcerange", index: 2 * actuator + 1 }),
  offset: (actuator) => ({ field: "actuator_biasprm", index: 10 * actuator }),
};

/** What goes with the state; the rest is of controls alone. */
const OF_STATE: readonly DrivenWord[] = ["followed", "error", "speed"];

/** The actuators of a world whose physics is made elsewhere. What they remember goes on from step to step. */
export class DrivenActuators {
  readonly #model: Model;
  readonly #variables: readonly Named[];
  readonly #kept = new Map<string, number>();

  private constructor(model: Model, variables: readonly Named[]) {
    this.#model = model;
    this.#variables = variables;
  }

  /** Those of the program of a step; undefined if it has none, or does not say where they act. */
  static in(trace: Pick<Trace, "vars" | "root">, model: Model): DrivenActuators | undefined {
    if (stagesIn(trace, DRIVEN_STAGE) === 0) return undefined;
    const variables = trace.vars.flatMap(({ name }) => {
      const found = drivenIn(name);
      return found && found.actuator < model.nactuator ? [{ name, ...found }] : [];
    });
    return variables.some(({ word }) => word === "control") ? new DrivenActuators(model, variables) : undefined;
  }

  /** Actuators that need a range of forces in MuJoCo's model. */
  get forceLimited(): readonly number[] {
    return Array.from(this.#model.actuator_forcelimited, (is, i) => (is ? i : -1)).filter((i) => i >= 0);
  }

  /** The next step begins with what its program has. */
  forget(): void {
    this.#kept.clear();
  }

  /** A control step, whose program `run` interprets. False if the world makes none. */
  step(run: (options: RunOptions) => Interpretation, of: DrivenStep, physics: Physics): boolean {
    const { nv, nu } = this.#model;
    let motion: Motion | undefined = of.from;
    let made = 0;
    let inputs: Inputs | undefined;
    const begin = ({ read, write }: Visited) => {
      const { from, recorded, again, kick: change = (values) => values } = of;
      const kick = change(read("qvel", nv).map((v, i) => (again ? 0 : v - recorded[i])));
      inputs = { ...readInputs(this.#model, read), kick };
      motion = { qpos: from.qpos, qvel: from.qvel.map((v, i) => v + kick[i]) };
      this.#resume(write, again === true);
    };
    run({
      visit: (stage, at) => {
        if (stage === DRIVEN_STAGE) {
          if (made === 0) begin(at);
          for (const name of ["qpos", "qvel"] as const) at.write(name, motion![name]);
          // what stays like this does not go with the state
          for (const { name, word } of this.#variables) if (NUMBERS[word]) at.write(name, [Number.NaN]);
        }
        if (stage !== PHYSICS_BEGINS || !inputs) return true;
        motion = physics({ ...inputs, ctrl: at.read("ctrl", nu), numbers: this.#numbers(at) }, made++);
        if (motion && made < of.nstep) return STEPS;
        for (const { name } of this.#variables) this.#kept.set(name, at.read(name, 1)[0]);
        return false;
      },
    });
    return made > 0;
  }

  #resume(write: Visited["write"], again: boolean): void {
    if (this.#kept.size === 0) return;
    for (const { name, word } of this.#variables) if (OF_STATE.includes(word)) write(name, [this.#kept.get(name)!]);
    if (!again) return;
    // what acted is past now
    for (const { actuator } of this.#variables.filter(({ word }) => word === "control")) {
      const of = this.#variables.filter((v) => v.actuator === actuator && ["control", "past"].includes(v.word));
      const past = of.filter(({ word }) => word === "past");
      const all = [...of.filter(({ word }) => word === "control"), ...past].map(({ name }) => this.#kept.get(name)!);
      past.forEach(({ name }, i) => write(name, [all[i]]));
    }
  }

  #numbers({ read }: Visited): DrivenNumber[] {
    return this.#variables.flatMap(({ name, word, actuator }) => {
      const number = NUMBERS[word]?.(actuator);
      const [value] = number ? read(name, 1) : [];
      return number && !Number.isNaN(value) ? [{ ...number, value }] : [];
    });
  }
}
