// worlds in MuJoCo under random controls, step by step: what one-step comparisons start from
import { RandomStream, streams } from "../core/rng.ts";
import { mjtJoint } from "../model/enums.ts";
import { initialHistory } from "../model/history.ts";
import { remembersEnergy } from "../model/energy.ts";
import type { Model } from "../model/model.ts";
import { diverged, type MuJoCoWorld, type StepResult, type WorldState } from "../monitor/mujoco-world.ts";

/** Random streams of a comparison. */
const STREAM = { start: streams.user, controls: streams.user + 1 } as const;

/** Start positions are moved by up to this (m, rad). */
const START_SPREAD = 0.05;
/** Start velocities are up to this (m/s, rad/s). */
const START_SPEED = 0.1;
/** Steps for which controls are held: long enough to move something. */
const HOLD = 5;

/** One step of one world: from where, and what MuJoCo made of it. */
export interface Sample {
  readonly env: number;
  /** Counted from 0 since the world started. */
  readonly step: number;
  /** How often the world was started over. */
  readonly episode: number;
  readonly from: WorldState;
  readonly result: StepResult;
}

/** A world that MuJoCo itself could not step. */
export interface Divergence {
  readonly env: number;
  readonly step: number;
  readonly field: "qpos" | "qvel" | "qacc";
  /** Steps before it that are left out: from the one on in which something moves by more than RUNAWAY. */
  readonly left: number;
}

/** Motion in one physics step (m, rad) of worlds that MuJoCo is losing: no step from there is anybody's reference. */
const RUNAWAY = 1;

/** Steps that a world which runs away is followed after its last. */
const FATE = 200;

const isRunaway = ({ opt: { timestep } }: Model, { qvel }: WorldState): boolean =>
  qvel.some((v) => !(Math.abs(v) * timestep <= RUNAWAY));

/** Draws numbers of one stream one after the other. */
class Draws {
  #next = 0;
  readonly #stream: RandomStream;

  constructor(seed: number, env: number, episode: number, stream: number) {
    this.#stream = new RandomStream(seed, env, episode, stream);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.#stream.uniform(this.#next++);
  }
}

/** No evaluation has left a kinetic energy; empty if no sensor would read it. */
const noEnergy = (model: Model): Float64Array => new Float64Array(remembersEnergy(model) ? 2 : 0);

/** Where the worlds start: the model's own state, or one of its keyframes, by turns. */
function base(model: Model, env: number): WorldState {
  const key = model.nkey > 0 ? (env % (model.nkey + 1)) - 1 : -1;
  const part = (values: Float64Array, size: number) => values.slice(key * size, (key + 1) * size);
  if (key >= 0) {
    return {
      time: 0,
      qpos: part(model.key_qpos, model.nq),
      qvel: part(model.key_qvel, model.nv),
      act: part(model.key_act, model.na),
      qacc_warmstart: new Float64Array(model.nv),
      mocap_pos: part(model.key_mpos, 3 * model.nmocap),
      mocap_quat: part(model.key_mquat, 4 * model.nmocap),
      eq_active: Float64Array.from(model.eq_active0),
      history: Float64Array.from(initialHistory(model)),
      energy_vel: noEnergy(model),
      ctrl: part(model.key_ctrl, model.nu),
    };
  }
  const mocap_pos = new Float64Array(3 * model.nmocap);
  const mocap_quat = new Float64Array(4 * model.nmocap);
  for (let b = 0; b < model.nbody; b++) {
    const id = model.body_mocapid[b];
    if (id < 0) continue;
    mocap_pos.set(model.body_pos.subarray(3 * b, 3 * b + 3), 3 * id);
    mocap_quat.set(model.body_quat.subarray(4 * b, 4 * b + 4), 4 * id);
  }
  return {
    time: 0,
    qpos: Float64Array.from(model.qpos0),
    qvel: new Float64Array(model.nv),
    act: new Float64Array(model.na),
    qacc_warmstart: new Float64Array(model.nv),
    mocap_pos,
    mocap_quat,
    eq_active: Float64Array.from(model.eq_active0),
    history: Float64Array.from(initialHistory(model)),
    energy_vel: noEnergy(model),
    ctrl: new Float64Array(model.nu),
  };
}

/** Turns a unit quaternion by up to START_SPREAD about each axis. */
function turn(quat: Float64Array, draws: Draws): void {
  const [w, x, y, z] = quat;
  const [a, b, c] = [0, 1, 2].map(() => draws.between(-START_SPREAD / 2, START_SPREAD / 2));
  const turned = [
    w - x * a - y * b - z * c,
    x + w * a + y * c - z * b,
    y + w * b + z * a - x * c,
    z + w * c + x * b - y * a,
  ];
  const norm = Math.hypot(...turned);
  turned.forEach((q, i) => (quat[i] = q / norm));
}

/** A valid start state near one of the model's own: inside joint ranges, quaternions of unit length. */
export function startState(model: Model, seed: number, env: number, episode = 0): WorldState {
  const state = base(model, env);
  const draws = new Draws(seed, env, episode, STREAM.start);
  const shift = () => draws.between(-START_SPREAD, START_SPREAD);
  for (let j = 0; j < model.njnt; j++) {
    const type = model.jnt_type[j];
    let at = model.jnt_qposadr[j];
    if (type === mjtJoint.FREE) for (let i = 0; i < 3; i++) state.qpos[at++] += shift();
    if (type === mjtJoint.FREE || type === mjtJoint.BALL) {
      turn(state.qpos.subarray(at, at + 4), draws);
      continue;
    }
    const before = state.qpos[at];
    state.qpos[at] += shift();
    if (!model.jnt_limited[j]) continue;
    const [low, high] = model.jnt_range.subarray(2 * j, 2 * j + 2);
    // a start outside the range, as a model may have it, is not pulled inside
    state.qpos[at] = Math.min(Math.max(state.qpos[at], Math.min(low, before)), Math.max(high, before));
  }
  for (let v = 0; v < model.nv; v++) state.qvel[v] += draws.between(-START_SPEED, START_SPEED);
  for (let i = 0; i < state.mocap_pos.length; i++) state.mocap_pos[i] += shift();
  for (let i = 0; i < model.nmocap; i++) turn(state.mocap_quat.subarray(4 * i, 4 * i + 4), draws);
  return state;
}

/** Random controls: uniform within ctrlrange, within ±1 if there is none. */
class RandomControls {
  readonly #model: Model;
  readonly #draws: Draws;
  #held: Float64Array = new Float64Array();

  constructor(model: Model, seed: number, env: number, episode: number) {
    this.#model = model;
    this.#draws = new Draws(seed, env, episode, STREAM.controls);
  }

  /** The controls of a step; steps are asked for in order. */
  at(step: number): Float64Array {
    if (step % HOLD !== 0) return this.#held;
    const { nu, actuator_ctrllimited: limited, actuator_ctrlrange: range } = this.#model;
    this.#held = Float64Array.from({ length: nu }, (_, u) =>
      limited[u] ? this.#draws.between(range[2 * u], range[2 * u + 1]) : this.#draws.between(-1, 1),
    );
    return this.#held;
  }
}

export interface TrajectoryOptions {
  /** Samples of each world. */
  readonly steps: number;
  /** Worlds, one after the other. */
  readonly envs: number;
  readonly seed: number;
  /** A world that MuJoCo cannot step any further; it starts over from another state. */
  readonly onDivergence?: (divergence: Divergence) => void;
}

/** How often a world may start over without a single good step. */
const MAX_BAD_STARTS = 10;

/** Steps worlds in MuJoCo under random controls, `steps` samples of each. */
export function* trajectory(model: Model, world: MuJoCoWorld, options: TrajectoryOptions): Generator<Sample> {
  const { steps, envs, seed } = options;
  for (let env = 0; env < envs; env++) {
    let episode = 0;
    let badStarts = 0;
    let step = 0;
    let state = startState(model, seed, env);
    let controls = new RandomControls(model, seed, env, episode);
    // what a divergence may follow
    let held: Sample[] = [];
    let made = 0;
    let ahead = 0;
    // a world that runs away at the end is followed to see whether MuJoCo loses it
    const isOpen = () => made < steps || (held.length > 0 && ahead < FATE);
    while (isOpen() && badStarts < MAX_BAD_STARTS) {
      const from: WorldState = { ...state, ctrl: controls.at(step) };
      const result = world.step(from);
      const field = diverged(result);
      if (field) {
        options.onDivergence?.({ env, step, field, left: held.length });
        held = [];
        if (made === steps) break;
        if (step === 0) badStarts++;
        episode++;
        step = 0;
        state = startState(model, seed, env, episode);
        controls = new RandomControls(model, seed, env, episode);
        continue;
      }
      state = world.state();
      if (made === steps) {
        ahead++;
        step++;
        continue;
      }
      const sample = { env, step, episode, from, result };
      if (held.length > 0 || isRunaway(model, from)) held.push(sample);
      else yield sample;
      step++;
      made++;
    }
    yield* held;
  }
}
