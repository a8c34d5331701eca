/**
 * What an environment adds to a model: a task is data and named functions over traced scalars, the same that the physics
 * is written in. All of a control step, physics and task, becomes one kernel, which also runs on the CPU.
 */
import type { FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import type { DataView, ModelView } from "../sim/view.ts";
import type { Bool, Int, Scalar } from "../trace/scalar.ts";
import type { Draws } from "./draws.ts";
import type { Space } from "./spaces.ts";

/** An option of a task: a number, a switch, a word, or a range [low, high] whose ends may be infinite. */
export type OptionValue = number | boolean | string | readonly [number, number];

/** Values by name; their order is that of the source text. */
export type Named<T> = { readonly [name: string]: T };

/** One world while its kernel is traced: what the functions of a task read. */
export interface Scene<O extends object = object> {
  readonly model: Model;
  readonly options: O;
  readonly m: ModelView;
  /**
   * The data after the control step, or at the start of the episode where the world was just reset. Derived fields named
   * in `outputs` are of the last evaluation inside of the step, as MuJoCo leaves them; `cfrc_ext` and the like are zero
   * after a reset.
   */
  readonly d: DataView;
  /** State before the control step. */
  readonly before: { readonly qpos: readonly Scalar[]; readonly qvel: readonly Scalar[] };
  /** What `carry` kept of the control step before this one, or of the reset. */
  readonly carried: Named<readonly Scalar[]>;
  /** The action as given; whole numbers (i32) where the space is discrete. */
  readonly action: readonly Scalar[];
  /** Seconds of a control step. */
  readonly dt: Scalar;
  /** Stable id of the world, number of the episode, control steps in it so far (u32). */
  readonly world: Int;
  readonly episode: Int;
  readonly length: Int;
  /** Whether the world was just reset; known when the kernel is traced. */
  readonly fresh: boolean;
}

/** The scene of a reset: with random numbers of this (seed, world, episode). */
export interface StartScene<O extends object = object> extends Scene<O> {
  readonly random: Draws;
}

/** The state that an episode starts in. What is left out is zero. */
export interface Start {
  readonly qpos: readonly Scalar[];
  readonly qvel: readonly Scalar[];
  readonly act?: readonly Scalar[];
}

/**
 * A task. Functions are called while kernels are traced, so names and sizes come from what they return; they must return
 * the same names each time.
 */
export interface Task<O extends object = object> {
  /** Name of the environment: "Ant-v5". */
  readonly id: string;
  /** The MJCF: a file, or XML text. */
  readonly model: URL | string;
  /** Physics steps of a control step. */
  readonly frameSkip: number;
  /** Control steps after which an episode is truncated; Infinity for no limit. */
  readonly maxEpisodeSteps: number;
  /** Every option of the task with its default. */
  readonly defaults: O;
  /** Throws for options that do not fit the model. */
  readonly check?: (options: O, model: Model) => void;
  /** Default: a Box of actuator_ctrlrange. */
  readonly actionSpace?: (model: Model, options: O) => Space;
  /** Controls of an action. Default: the action itself. */
  readonly control?: (scene: Scene<O>) => readonly Scalar[];
  /** Derived fields that the functions below read. */
  readonly outputs?: (options: O) => readonly FieldName[];
  /** What to keep for the next control step, per world. */
  readonly carry?: (scene: Scene<O>) => Named<readonly Scalar[]>;
  /** Parts of the observation, in order. */
  readonly observe: (scene: Scene<O>) => Named<readonly Scalar[]>;
  /** Terms of the reward; their sum is the reward. */
  readonly reward: (scene: Scene<O>) => Named<Scalar>;
  /** Conditions that end an episode. */
  readonly terminated: (scene: Scene<O>) => Named<Bool>;
  /** Conditions that cut an episode short, beside the limit of control steps. */
  readonly truncated?: (scene: Scene<O>) => Named<Bool>;
  /** Numbers reported beside the terms of the reward. */
  readonly info?: (scene: Scene<O>) => Named<Scalar>;
  /** Numbers reported of a reset. */
  readonly resetInfo?: (scene: Scene<O>) => Named<Scalar>;
  /** The start of an episode. */
  readonly reset: (scene: StartScene<O>) => Start;
}

/** Types a task by its defaults; returns it as it is. */
export const defineTask = <O extends object>(task: Task<O>): Task<O> => task;
