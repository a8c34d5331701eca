// whether a comparison passes: errors within bounds, or no larger than what MuJoCo itself leaves open at that state
import type { Model } from "../model/model.ts";
import { MuJoCoWorld, type StepResult } from "../monitor/mujoco-world.ts";
import { documentedIn, toTheEnd } from "./documented.ts";
import type { OneStep } from "./one-step.ts";
import { distances, quantitiesOf, type Quantity } from "./quantities.ts";
import { isExcused, placingOf, sensitivityOf, type Sensitivity, type Steps } from "./sensitivity.ts";
import type { Sample } from "./trajectory.ts";

/** A step whose error is beyond a bound. */
export interface Beyond {
  readonly env: number;
  readonly step: number;
  /** `qvel`, or `sensor "imu"`. */
  readonly field: string;
  readonly error: number;
  /**
   * MuJoCo's own distance under a change of its state by 1e-7, or under a contact that comes or goes within 1e-6; where
   * nothing else accounts for the error, of its geoms' places by 1e-15 too.
   */
  readonly mujocoSensitivity: number;
  /**
   * How far MuJoCo stopped from its own result at this state: a solver that ends at its tolerance, contacts that
   * are searched, velocities by forces that cancel in place of M qacc. Null where the sensitivity alone accounts for the error.
   */
  readonly leftover: number | null;
  /** The error beside MuJoCo run to its end, likewise. */
  readonly beyondLeftover: number | null;
  /** Iterations of the solver. */
  readonly niter: { readonly corral: number; readonly mujoco: number };
  /** What accounts for the error: "sensitivity", the names of documented differences, or null if nothing does. */
  readonly because: string | null;
  readonly explained: boolean;
  /** The error of the same step in corral's float64 (`cpu-f64`); null if that was not asked. */
  readonly float64: number | null;
}

export interface Verdict {
  readonly passed: boolean;
  /** Why it did not pass, in words. */
  readonly reasons: readonly string[];
  /** Errors beyond a bound, and how many of them are accounted for, by what. */
  readonly beyond: number;
  readonly explained: number;
  readonly because: Readonly<Record<string, number>>;
  /** The worst of them, unexplained ones first. */
  readonly worst: readonly Beyond[];
}

/** Errors named in a verdict. */
const NAMED = 10;

interface Counts {
  equal: number;
  touching: number;
  total: number;
  most: number;
}

interface Found {
  readonly row: Beyond;
  readonly sample: Sample;
  readonly quantity: Quantity;
  /** MuJoCo's result when it does not stop short. */
  readonly end: StepResult | undefined;
}

/** How many times its bound an error is. */
const excess = ({ row, quantity }: Found): number => row.error / quantity.max;

/** What MuJoCo computes at a state when it does not stop short. */
interface End {
  readonly result: StepResult;
  readonly sensitivity: Sensitivity;
}

/** Velocities by forces that cancel: of 1e17 N they leave what rounds, where M qacc is known. */
const CANCELLATION = "forces that cancel";

/** Sorts samples into those within bounds, those that MuJoCo's own step accounts for, and the others. `delete()` it. */
export class Judge {
  readonly contacts: Counts = { equal: 0, touching: 0, total: 0, most: 0 };
  readonly rows: Counts = { equal: 0, touching: 0, total: 0, most: 0 };
  readonly quantities: readonly Quantity[];
  readonly #world: MuJoCoWorld;
  readonly #end: MuJoCoWorld;
  readonly #documented: string;
  /** Whether corral too goes towards the end step by step: then it may stop short of it, nearer than MuJoCo. */
  readonly #isSearch: boolean;
  readonly #found: Found[] = [];

  private constructor(model: Model, world: MuJoCoWorld, end: MuJoCoWorld) {
    this.quantities = quantitiesOf(model);
    this.#world = world;
    this.#end = end;
    const documented = documentedIn(model);
    this.#documented = documented.join(", ");
    this.#isSearch = documented.includes("CG") || documented.includes("searched contacts");
  }

  static async create(model: Model, world: MuJoCoWorld): Promise<Judge> {
    return new Judge(model, world, await MuJoCoWorld.create(toTheEnd(model)));
  }

  /** Judges our result of the step that a sample is. */
  add(sample: Sample, ours: Omit<OneStep, "status">): void {
    const { quantities } = this;
    const { ncon, nefc } = sample.result;
    const errors = distances(quantities, ours, sample.result);
    const isBeyond = errors.map((error, q) => !(error <= quantities[q].tail));
    const looks = ours.ncon !== ncon || ours.nefc !== nefc || isBeyond.includes(true);
    const sensitivity = looks ? sensitivityOf(this.#world, sample, quantities) : undefined;
    const isOpen = (q: number) => isBeyond[q] && !isExcused(errors[q], sensitivity!.distances[q]);
    const countsOpen = !inRange(ours.ncon, ncon, sensitivity?.ncon) || !inRange(ours.nefc, nefc, sensitivity?.nefc);
    const end = looks && (countsOpen || quantities.some((_, q) => isOpen(q))) ? this.#toTheEnd(sample) : undefined;

    let asked: Sensitivity | undefined;
    const placing = () => (asked ??= placingOf(this.#world, sample, quantities));
    const ranges = (of: "ncon" | "nefc") => [sensitivity?.[of], end?.sensitivity[of]];
    countIn(this.contacts, ours.ncon, ncon, ranges("ncon"), () => placing().ncon);
    countIn(this.rows, ours.nefc, nefc, ranges("nefc"), () => placing().nefc);
    if (!sensitivity) return;
    const leftovers = end && distances(quantities, sample.result, end.result);
    const toEnd = end && distances(quantities, ours, end.result);
    let balanced: End | undefined;
    quantities.forEach((quantity, q) => {
      if (!isBeyond[q]) return;
      const isOf = (error: number, at: End) => error <= quantity.tail || isExcused(error, at.sensitivity.distances[q]);
      const isNear = () =>
        toEnd !== undefined && (isOf(toEnd[q], end!) || (this.#isSearch && toEnd[q] <= leftovers![q]));
      let because = !isOpen(q) ? "sensitivity" : isNear() ? this.#documented : null;
      let compared = end && { result: end.result, leftover: leftovers![q], error: toEnd![q] };
      if (because === null && end) {
        balanced ??= this.#balanced(sample);
        const [leftover] = distances([quantity], sample.result, balanced.result);
        const [error] = distances([quantity], ours, balanced.result);
        if (isOf(error, balanced)) {
          because = CANCELLATION;
          compared = { result: balanced.result, leftover, error };
        }
      }
      if (because === null && isExcused(errors[q], placing().distances[q])) because = "sensitivity";
      const row: Beyond = {
        env: sample.env,
        step: sample.step,
        field: quantity.name,
        error: errors[q],
        mujocoSensitivity: Math.max(sensitivity.distances[q], asked?.distances[q] ?? 0),
        leftover: compared?.leftover ?? null,
        beyondLeftover: compared?.error ?? null,
        niter: { corral: ours.niter, mujoco: sample.result.niter },
        because,
        explained: because !== null,
        float64: null,
      };
      this.#found.push({ row, sample, quantity, end: compared?.result });
    });
  }

  #toTheEnd(sample: Sample): End {
    return this.#ask(this.#end, sample);
  }

  /** The same, and by accelerations, which forces that cancel do not reach. */
  #balanced(sample: Sample): End {
    const world = this.#end;
    return this.#ask(
      {
        step: (from) => world.stepByAcceleration(from),
        withMargins: (change, call) => world.withMargins(change, call),
      },
      sample,
    );
  }

  #ask(world: Steps, { from }: Sample): End {
    const result = world.step(from);
    return { result, sensitivity: sensitivityOf(world, { from, result }, this.quantities) };
  }

  /** The worst errors, unexplained ones first, with their samples. */
  worst(): readonly Found[] {
    const sorted = [...this.#found].sort(
      (a, b) => Number(a.row.explained) - Number(b.row.explained) || excess(b) - excess(a),
    );
    return sorted.slice(0, NAMED);
  }

  /** `float64`: errors of the worst in corral's float64, in their order. */
  verdict(status: Readonly<Record<string, number>>, float64: readonly number[] = []): Verdict {
    const found = this.#found;
    const open = found.filter((b) => !b.row.explained);
    const { total } = this.contacts;
    const reasons: string[] = [];
    for (const quantity of this.quantities) {
      const { name, max, tail } = quantity;
      const off = open.filter((b) => b.quantity === quantity);
      const worst = Math.max(0, ...off.map((b) => b.row.error));
      if (worst > max) reasons.push(`${name} is off by ${worst.toExponential(2)}, bound ${max}`);
      if (tail < max && off.length > 0.01 * total) {
        reasons.push(`${name} is off by more than ${tail} in ${off.length} of ${total} steps, more than 1 %`);
      }
    }
    for (const [what, { equal, touching }] of [
      ["contacts", this.contacts],
      ["rows", this.rows],
    ] as const) {
      const wrong = total - equal - touching;
      if (wrong > 0) reasons.push(`the count of ${what} differs in ${wrong} of ${total} steps`);
    }
    for (const [bit, steps] of Object.entries(status)) reasons.push(`${bit} is set in ${steps} steps`);

    const because: Record<string, number> = {};
    for (const { row } of found) if (row.because !== null) because[row.because] = (because[row.because] ?? 0) + 1;
    return {
      passed: reasons.length === 0,
      reasons,
      beyond: found.length,
      explained: found.length - open.length,
      because,
      worst: this.worst().map(({ row }, i) => ({ ...row, float64: float64[i] ?? null })),
    };
  }

  /** Frees MuJoCo's second world. */
  delete(): void {
    this.#end.delete();
  }
}

const inRange = (ours: number, theirs: number, range: readonly [number, number] | undefined): boolean =>
  ours === theirs || (range !== undefined && ours >= range[0] && ours <= range[1]);

function countIn(
  counts: Counts,
  ours: number,
  theirs: number,
  ranges: readonly (readonly [number, number] | undefined)[],
  lastly: () => readonly [number, number],
): void {
  counts.total++;
  counts.most = Math.max(counts.most, theirs);
  if (ours === theirs) counts.equal++;
  else if (ranges.some((range) => range !== undefined && inRange(ours, theirs, range))) counts.touching++;
  else if (inRange(ours, theirs, lastly())) counts.touching++;
}
