// whether a comparison passes: errors within bounds, or no larger than MuJoCo's own sensitivity
import { ONE_STEP_BOUNDS } from "../monitor/measure.ts";
import type { MuJoCoWorld } from "../monitor/mujoco_world.ts";
import { sensitivityOf } from "./sensitivity.ts";
import type { Sample } from "./trajectory.ts";

/** A step whose error is beyond a bound. */
export interface Beyond {
  readonly env: number;
  readonly step: number;
  readonly field: "qpos" | "qvel";
  readonly error: number;
  /** MuJoCo's own distance under a change of its state by 1e-7, or under a contact that comes or goes within 1e-6. */
  readonly mujocoSensitivity: number;
  /** Is the error no larger than that? */
  readonly explained: boolean;
}

export interface Verdict {
  readonly passed: boolean;
  /** Why it did not pass, in words. */
  readonly reasons: readonly string[];
  /** Steps beyond a bound, and how many of them MuJoCo's own sensitivity explains. */
  readonly beyond: number;
  readonly explained: number;
  /** The worst of them, unexplained ones first. */
  readonly worst: readonly Beyond[];
}

/** How many times its bound an error is. */
const excess = ({ field, error }: Beyond): number =>
  error / (field === "qpos" ? ONE_STEP_BOUNDS.qposMax : ONE_STEP_BOUNDS.qvelMax);

/** Steps named in a verdict. */
const NAMED = 10;

interface Counts {
  equal: number;
  touching: number;
  total: number;
  most: number;
}

/** Sorts samples into those within bounds, those that MuJoCo's sensitivity explains, and the others. */
export class Judge {
  readonly contacts: Counts = { equal: 0, touching: 0, total: 0, most: 0 };
  readonly rows: Counts = { equal: 0, touching: 0, total: 0, most: 0 };
  readonly #world: MuJoCoWorld;
  readonly #beyond: Beyond[] = [];

  constructor(world: MuJoCoWorld) {
    this.#world = world;
  }

  add(sample: Sample, errors: { qpos: number; qvel: number }, counts: { ncon: number; nefc: number }): void {
    const { qposMax, qvelP99 } = ONE_STEP_BOUNDS;
    const { ncon, nefc } = sample.result;
    const differs = counts.ncon !== ncon || counts.nefc !== nefc;
    const isBeyond = errors.qpos > qposMax || errors.qvel > qvelP99;
    const sensitivity = differs || isBeyond ? sensitivityOf(this.#world, sample) : undefined;

    countIn(this.contacts, counts.ncon, ncon, sensitivity?.ncon);
    countIn(this.rows, counts.nefc, nefc, sensitivity?.nefc);
    if (!sensitivity) return;
    for (const [field, bound] of [
      ["qpos", qposMax],
      ["qvel", qvelP99],
    ] as const) {
      const error = errors[field];
      if (error <= bound) continue;
      const mujocoSensitivity = sensitivity[field];
      const explained = error <= mujocoSensitivity;
      this.#beyond.push({ env: sample.env, step: sample.step, field, error, mujocoSensitivity, explained });
    }
  }

  verdict(status: Readonly<Record<string, number>>): Verdict {
    const { qposMax, qvelP99, qvelMax } = ONE_STEP_BOUNDS;
    const open = this.#beyond.filter((b) => !b.explained);
    const worst = (field: Beyond["field"]) => Math.max(0, ...open.filter((b) => b.field === field).map((b) => b.error));
    const reasons: string[] = [];

    if (worst("qpos") > qposMax) reasons.push(`qpos is off by ${worst("qpos").toExponential(2)}, bound ${qposMax}`);
    if (worst("qvel") > qvelMax) reasons.push(`qvel is off by ${worst("qvel").toExponential(2)}, bound ${qvelMax}`);
    const tail = open.filter((b) => b.field === "qvel").length;
    if (tail > 0.01 * this.contacts.total) {
      reasons.push(`qvel is off by more than ${qvelP99} in ${tail} of ${this.contacts.total} steps, more than 1 %`);
    }
    for (const [what, { equal, touching, total }] of [
      ["contacts", this.contacts],
      ["rows", this.rows],
    ] as const) {
      const wrong = total - equal - touching;
      if (wrong > 0) reasons.push(`the count of ${what} differs in ${wrong} of ${total} steps`);
    }
    for (const [bit, steps] of Object.entries(status)) reasons.push(`${bit} is set in ${steps} steps`);

    const sorted = [...this.#beyond].sort((a, b) => Number(a.explained) - Number(b.explained) || excess(b) - excess(a));
    return {
      passed: reasons.length === 0,
      reasons,
      beyond: this.#beyond.length,
      explained: this.#beyond.length - open.length,
      worst: sorted.slice(0, NAMED),
    };
  }
}

function countIn(counts: Counts, ours: number, theirs: number, range?: readonly [number, number]): void {
  counts.total++;
  counts.most = Math.max(counts.most, theirs);
  if (ours === theirs) counts.equal++;
  else if (range && ours >= range[0] && ours <= range[1]) counts.touching++;
}
