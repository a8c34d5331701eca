// what a policy learns from others: what a teacher would do in the rollout (DAgger, Ross et al. 2011), or what was recorded
// (behaviour cloning, Pomerleau 1989)
import { answered } from "../../core/answered.ts";
import { CorralError } from "../../core/errors.ts";
import { warn } from "../../core/host.ts";
import { optionsOf } from "../../core/options.ts";
import { RandomStream, streams } from "../../core/rng.ts";
import { whyThrown } from "../../core/returned.ts";
import { show } from "../../core/show.ts";
import type { Space } from "../../env/space/spaces.ts";
import { AppliedPolicy } from "../networks/apply-policy.ts";
import type { Policy } from "../networks/policy.ts";
import { SAMPLE, StepFlag } from "../tables/device-tables.ts";
import type { Learner } from "./learner.ts";
import type { CollectedRollout } from "./rollout-upload.ts";

/**
 * A policy, or a function from the observations of all worlds [numEnvs, columns of all groups] to the actions it would take,
 * [numEnvs, ...action], each as the environment takes it.
 */
export type Teacher = Policy | ((observations: Float32Array) => ArrayLike<number> | Promise<ArrayLike<number>>);

/** Steps of others: observations [count, columns of all groups] and actions [count, ...action], row-major. */
export interface Demonstrations {
  readonly observations: ArrayLike<number>;
  readonly actions: ArrayLike<number>;
}

/** The largest part of its range that an action is unsquashed from: tanh reaches its bounds at infinity. */
const NEARLY_BOUND = 1 - 1e-5;

const wrong = (text: string, details: Record<string, unknown>): CorralError =>
  new CorralError("bad-demonstration", text, details);

/** What is wrong with an action, and what its space has there; undefined of its actions, and of numbers beyond a box. */
export function wrongIn(space: Space, action: ArrayLike<number>): string | undefined {
  const i = space.firstBad(action);
  return i < 0 ? undefined : `number ${i} of an action is ${action[i]}; pass ${space.expects(i)}`;
}

/** An action of the environment as the policy's distribution has it; `whose` says in `bad-demonstration` where it stands. */
function inward(
  space: Space,
  squash: boolean,
): (action: ArrayLike<number>, from: number, into: number[], whose: string) => void {
  return (action, from, into, whose) => {
    const own = Array.from({ length: space.size }, (_, i) => action[from + i]);
    const text = wrongIn(space, own);
    if (text !== undefined) throw wrong(`${whose}: ${text}.`, { from });
    for (const [i, a] of own.entries()) {
      if (space.kind !== "box") {
        into[i] = space.kind === "discrete" ? a - space.start : a;
        continue;
      }
      const { low, high } = space;
      const within = Math.min(high[i], Math.max(low[i], a));
      const part = Math.max(-NEARLY_BOUND, Math.min(NEARLY_BOUND, (2 * (within - low[i])) / (high[i] - low[i]) - 1));
      into[i] = squash ? Math.atanh(part) : within;
    }
  };
}

/** The columns of observations that a teacher sees: those of the group that has as many as it takes. */
function seenBy(policy: Policy, { env }: Learner["shape"]): { readonly from: number; readonly size: number } {
  const groups = env.groups ?? {
    policy: { from: 0, size: env.observations },
    critic: { from: 0, size: env.observations },
  };
  const fitting = [groups.policy, groups.critic].filter(({ size }) => size === policy.observations);
  if (fitting.length > 1 && groups.policy.from !== groups.critic.from)
    warn(
      `the teacher sees ${policy.observations} numbers, as many as ${env.id} shows its policy and as its critic; it is shown the policy's. To show it others pass a function of the observations of all groups, which asks new AppliedPolicy(policy, numEnvs).`,
      "corral-teacher-sees",
    );
  if (fitting.length > 0) return fitting[0];
  throw new CorralError(
    "bad-peer",
    `the teacher sees ${policy.observations} numbers; ${env.id} shows its policy ${groups.policy.size} and its critic ${groups.critic.size}. Give the task a group "critic" that is what the teacher sees.`,
    { teacher: policy.observations },
  );
}

/** Puts what a teacher would have done in place of the actions of a rollout. */
export class Labels {
  readonly #learner: Learner;
  readonly #space: Space;
  readonly #squash: boolean;
  readonly #teacher: Teacher;
  readonly #applied: AppliedPolicy | undefined;
  readonly #seen: { readonly from: number; readonly size: number };

  /**
   * `memory`: what a teacher with a cell remembered, as `memory` gave it; of another size it is none of this teacher's.
   * @throws CorralError bad-peer if the teacher sees or does something else
   */
  constructor(learner: Learner, space: Space, squash: boolean, teacher: Teacher, memory?: Uint32Array) {
    const { env } = learner.shape;
    this.#learner = learner;
    this.#space = space;
    this.#squash = squash;
    this.#teacher = teacher;
    this.#seen = { from: 0, size: env.observations };
    if (typeof teacher === "function") return;
    if (!Array.isArray((teacher as Partial<Policy> | null | undefined)?.layers)) {
      const text = `the teacher is ${show(teacher)}; pass a policy, as await readPolicy(bytes) gives it, or a function from observations to actions.`;
      throw new CorralError("bad-peer", text);
    }
    this.#seen = seenBy(teacher, learner.shape);
    const { head } = teacher;
    const [does, takes] =
      head.kind === "gaussian"
        ? [`${head.actions} numbers`, `${space.size} numbers`]
        : [`choices of ${head.alternatives.join(", ")}`, `choices of ${env.alternatives.join(", ")}`];
    if ((head.kind === "gaussian") !== (space.kind === "box") || does !== takes) {
      throw new CorralError(
        "bad-peer",
        `the teacher's actions are ${does}; ${env.id} takes ${space.kind} actions, ${takes}.`,
      );
    }
    this.#applied = new AppliedPolicy(teacher, env.numEnvs);
    if (memory) this.#applied.remember(memory);
  }

  get teacher(): Teacher {
    return this.#teacher;
  }

  /** What a teacher with a cell remembers of all worlds; undefined of any other. */
  get memory(): Uint32Array<ArrayBuffer> | undefined {
    return this.#applied?.memory;
  }

  /** Has a teacher with a cell see a rollout that it does not label. */
  async follow(): Promise<void> {
    if (this.#applied?.memory) await this.#rollout();
  }

  /** Labels the rollout that lies in the learner's memory. Throws `bad-demonstration` for actions that are none, `bad-teacher` for a teacher that threw. */
  async write(): Promise<void> {
    this.#learner.write("rollout_actions", await this.#rollout());
  }

  /** What the teacher would do in the rollout, as the learner keeps actions. */
  async #rollout(): Promise<Float32Array<ArrayBuffer>> {
    const { samples, obs4, actions4, env } = this.#learner.shape;
    const [steps, width] = [samples / env.numEnvs, this.#space.size];
    const observations = await this.#learner.read("rollout_obs", new Float32Array(samples * 4 * obs4));
    const records = await this.#learner.read("samples", new Float32Array(samples * SAMPLE.size));
    const actions = new Float32Array(samples * 4 * actions4);
    // choices are integers on the device
    const into = env.head === "gaussian" ? actions : new Uint32Array(actions.buffer);
    const convert = inward(this.#space, this.#squash);
    const { from, size } = this.#seen;
    const rows = new Float32Array(env.numEnvs * size);
    const raw: number[] = [];
    for (let t = 0; t < steps; t++) {
      for (let world = 0; world < env.numEnvs; world++) {
        const at = (world * steps + t) * 4 * obs4 + from;
        rows.set(observations.subarray(at, at + size), world * size);
      }
      const wanted = await this.#wanted(rows);
      if (wanted.length !== env.numEnvs * width)
        throw wrong(
          `the teacher returned ${wanted.length} numbers; pass ${env.numEnvs * width}, ${width} for each of ${env.numEnvs} worlds.`,
          { returned: wanted.length },
        );
      for (let world = 0; world < env.numEnvs; world++) {
        const sample = world * steps + t;
        convert(wanted, world * width, raw, `the teacher, world ${world}`);
        into.set(raw, sample * 4 * actions4);
        // the next row is the first of another episode
        if ((records[sample * SAMPLE.size + SAMPLE.at("flags")] & StepFlag.skipped) !== 0) this.#applied?.forget(world);
      }
    }
    return actions;
  }

  async #wanted(rows: Float32Array): Promise<ArrayLike<number>> {
    if (typeof this.#teacher !== "function") return this.#applied!.act(rows);
    let wanted: ArrayLike<number> | null | undefined;
    try {
      wanted = await answered(
        this.#teacher(rows.slice()),
        "the teacher",
        (text) => new CorralError("bad-teacher", `the teacher: ${text}.`),
      );
    } catch (cause) {
      if (cause instanceof CorralError) throw cause;
      throw new CorralError("bad-teacher", `the teacher threw ${whyThrown(cause)}. Mend it.`, {}, { cause });
    }
    if (typeof wanted === "object" && Number.isInteger(wanted?.length)) return wanted;
    const text = `the teacher returned ${show(wanted)}; pass a list of numbers, an action for each world after the other.`;
    throw wrong(text, { returned: wanted });
  }
}

/** Lists whose every step has been looked at: actions, and their space, by observations. */
const looked = new WeakMap<object, { readonly actions: object; readonly space: Space }>();

/** Looks at every step when lists are first drawn from: an update draws some, and a bad one would end a run hours later. */
function lookAtAll(space: Space, nobs: number, { observations, actions }: Demonstrations): void {
  const known = looked.get(observations);
  if (known?.actions === actions && known.space === space) return;
  for (let at = 0; at * nobs < observations.length; at++) {
    lookAt(observations, nobs, at);
    const text = wrongIn(
      space,
      Array.from({ length: space.size }, (_, i) => actions[at * space.size + i]),
    );
    if (text !== undefined) throw wrong(`${placeOf(at)}: ${text}.`, { from: at * space.size });
  }
  looked.set(observations, { actions, space });
}

const placeOf = (at: number): string => `demonstrations, step ${at}`;

/** Throws `bad-demonstration` if an observation is not finite as float32. */
function lookAt(observations: ArrayLike<number>, nobs: number, at: number): void {
  for (let c = 0; c < nobs; c++) {
    const value = observations[at * nobs + c];
    if (!Number.isFinite(Math.fround(value)))
      throw wrong(`number ${c} of the observation of step ${at} is ${show(value)}; pass a finite float32.`, { at, c });
  }
}

/**
 * As many steps of demonstrations as a rollout has, drawn by a seed and the number of the update. Of lists that are new every
 * step is looked at, of others those that are drawn.
 * @throws CorralError bad-demonstration
 */
export function drawDemonstrations(
  { samples, env }: Learner["shape"],
  space: Space,
  squash: boolean,
  demonstrations: Demonstrations,
  { seed, iteration }: { readonly seed: number | bigint; readonly iteration: number },
): CollectedRollout {
  const { observations, actions } = optionsOf(demonstrations, "demonstrations");
  for (const [name, list] of Object.entries({ observations, actions }))
    if (!Number.isInteger((list as Partial<ArrayLike<number>> | undefined)?.length))
      throw wrong(`${name} of demonstrations is ${show(list)}; pass a list of numbers.`, { name });
  const [nobs, nact] = [env.observations, space.size];
  const count = observations.length / nobs;
  if (!Number.isInteger(count) || count < 1 || actions.length !== count * nact) {
    throw wrong(
      `demonstrations have ${observations.length} numbers of observations and ${actions.length} of actions; pass ${nobs} and ${nact} for each step, of one step at least.`,
      { observations: observations.length, actions: actions.length },
    );
  }
  lookAtAll(space, nobs, { observations, actions });
  const random = new RandomStream(seed, iteration, 0, streams.replay);
  const convert = inward(space, squash);
  const drawn = { observations: new Float32Array(samples * nobs), actions: new Float32Array(samples * nact) };
  const raw: number[] = [];
  for (let i = 0; i < samples; i++) {
    const at = random.integer(i, count);
    // lists may have changed since they were looked at
    lookAt(observations, nobs, at);
    for (let c = 0; c < nobs; c++) drawn.observations[i * nobs + c] = observations[at * nobs + c];
    convert(actions, at * nact, raw, placeOf(at));
    drawn.actions.set(raw, i * nact);
  }
  const steps = samples / env.numEnvs;
  return {
    ...drawn,
    steps,
    numEnvs: env.numEnvs,
    rewards: new Float32Array(samples),
    flags: new Float32Array(samples),
    actorOutputs: new Float32Array(2 * (samples + env.numEnvs)),
    episodes: { count: 0, returns: 0, lengths: 0 },
  };
}
