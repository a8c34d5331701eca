// what an environment adds to a model: a task is data, expressions and named functions over traced scalars, the same that
// the physics is written in. All of a control step, physics and task, becomes one kernel, which also runs on the CPU.
import type { FieldName } from "../../model/fields.ts";
import type { JointLimits } from "../../model/limits.ts";
import type { Model, OptionOverrides } from "../../model/model.ts";
import type { WorldData, ModelView } from "../../physics/view.ts";
import type { Bool, Int, Scalar } from "../../trace/scalar.ts";
import type { ActuatorNetwork } from "./actuator-network.ts";
import type { Draws } from "./draws.ts";
import type { Value } from "./expression/value.ts";
import type { ActionOptions, ObservationOptions } from "./options.ts";
import type { Space } from "../space/spaces.ts";
import type { PlacedTerrain } from "../../model/terrain/place.ts";

/** An option of a task: a number, a switch, a word, or a range [low, high] whose ends may be infinite. */
export type OptionValue = number | boolean | string | readonly [number, number];

/** Values by name; their order is that of the source text. */
export type Named<T> = { readonly [name: string]: T };

/** What is drawn or kept from control step to control step, by key. */
export type Update<O extends object> = (scene: Scene<O>, before: readonly Scalar[] | undefined) => readonly Scalar[];

export interface MemoryOptions {
  /** Whether it outlives episodes, until a reset that brings a seed; `update` then sees it where an episode starts too. */
  readonly persists?: boolean;
}

/** Values of a task by name. */
export interface SharedValues<O extends object = object> {
  readonly names: readonly string[];
  /** Undefined if there is none of the name. */
  read(name: string, scene: Scene<O>): Value | undefined;
}

/** One world while its kernel is traced: what the functions of a task read. */
export interface Scene<O extends object = object> {
  readonly model: Model;
  readonly options: O;
  readonly m: ModelView;
  /**
   * The data after the control step, or at the start of the episode if the world was just reset. Derived fields are of
   * the last evaluation inside of the step, as MuJoCo leaves them; `cfrc_ext` and the like are zero after a reset.
   */
  readonly d: WorldData;
  /** State before the control step. */
  readonly before: { readonly qpos: readonly Scalar[]; readonly qvel: readonly Scalar[] };
  /** Parameters of the task, which the host may change between steps, for each world. */
  readonly params: Named<readonly Scalar[]>;
  /** The terrain of the task. */
  readonly terrain: TaskTerrain | undefined;
  /** What `carry` kept of the control step before this one, or of the reset. */
  readonly carried: Named<readonly Scalar[]>;
  /** What the task's `values` are worth in a scene; `valueOf` reads them. */
  readonly values: SharedValues<O>;
  /** What the world's actuators are in this episode, by number of the actuator; undefined where nothing is said. */
  readonly actuators: (name: AmountName, actuator: number) => Scalar | undefined;
  /** The action as given; whole numbers (i32) if the space is discrete. */
  readonly action: readonly Scalar[];
  /** Seconds of a control step. */
  readonly dt: Scalar;
  /** Stable id of the world, number of the episode, control steps in it so far (u32). */
  readonly world: Int;
  readonly episode: Int;
  readonly length: Int;
  /**
   * Whether the world was just reset; known when the kernel is traced, so that it is false if the kernel of steps
   * observes the start (of automatic resets, and of all where it takes a whole evaluation): `length` is 0 there.
   */
  readonly fresh: boolean;
  /** True while a start, or a number of the model, is drawn: memories are those of the episode before. */
  readonly unbegun?: true;
  /** Random numbers of this (seed, world, episode, control step); of the episode alone in `reset`. */
  readonly random: Draws;
  /** New draws of where the episode starts: the same in `reset` and in memories that are made then. */
  readonly starting: () => Draws;
  /** Random numbers of the noise of observations. */
  readonly noise: Draws;
  /**
   * A value that a world keeps, by a key of its own: returns what the last control step left. `update` makes the next one
   * at the end of the step, and the first one (without `before`) where an episode starts. It is called in other traces
   * too, so it may use nothing of a scene but its own. In observations the value is the updated one.
   */
  memory(key: string, update: Update<O>, options?: MemoryOptions): readonly Scalar[];
  /** The same value as this step's `update` makes it; in observations no other than `memory`. */
  updated(key: string, update: Update<O>, options?: MemoryOptions): readonly Scalar[];
  /** The value of `now` at the end of the previous control step; at the start of an episode its current value. */
  previous(key: string, now: (scene: Scene<O>) => readonly Scalar[]): readonly Scalar[];
}

/** The scene of a reset. */
export type StartScene<O extends object = object> = Scene<O>;

/** The state that an episode starts in. What is left out is zero; positions are those of qpos0. */
export interface Start {
  readonly qpos?: readonly Scalar[];
  readonly qvel?: readonly Scalar[];
  readonly act?: readonly Scalar[];
  /** Where mocap bodies are (3 numbers each, m) and how they lie (4 each, unit quaternions). Default: as in the MJCF. */
  readonly mocap_pos?: readonly Scalar[];
  readonly mocap_quat?: readonly Scalar[];
  /** Which equality constraints are active, each 0 or not; what is not 0 is 1. Default: as in the MJCF. */
  readonly eq_active?: readonly Scalar[];
}

/** Disturbances of a world in a control step, in addition to its actuators. Numbers that are left out are zero. */
export interface Disturbance {
  /** Added to the velocities before the step. */
  readonly qvel?: readonly Scalar[];
  /** Forces throughout the step: generalized ones (nv), and on each body (nbody times force and torque, 6). */
  readonly qfrc_applied?: readonly Scalar[];
  readonly xfrc_applied?: readonly Scalar[];
  /** Which equality constraints are active from now on, each 0 or not (1); the last event that gives it decides. Default: as before. */
  readonly eq_active?: readonly Scalar[];
}

/**
 * Uniform in [low, high), log-uniform, normal within three deviations of its mean, or one of low, low + step, ... up to
 * high, each as often. Ends that are expressions, of parameters or of the episode's number, make a curriculum: uniform
 * `between` them, or the `value` itself, clamped to `within`.
 */
export type Distribution =
  | readonly [number, number]
  | { readonly logUniform: readonly [number, number] }
  | { readonly normal: readonly [number, number] }
  | { readonly grid: readonly [low: number, high: number, step: number] }
  | { readonly between: readonly [TermSource<object>, TermSource<object>]; readonly within: readonly [number, number] }
  | { readonly value: TermSource<object>; readonly within: readonly [number, number] };

/** Fields of the model that worlds may draw for themselves, `gravity`, and `speed_limit`: `velocity` of `limits`. */
export type RandomField =
  | "body_mass"
  | "body_inertia"
  | "body_ipos"
  | "dof_damping"
  | "dof_armature"
  | "dof_frictionloss"
  | "jnt_stiffness"
  | "jnt_range"
  | "geom_friction"
  | "geom_size"
  | "actuator_gear"
  | "actuator_gainprm"
  | "actuator_biasprm"
  | "actuator_forcerange"
  | "body_pos"
  | "body_quat"
  | "geom_pos"
  | "site_pos"
  | "pair_friction"
  | "qpos0"
  | "tendon_stiffness"
  | "tendon_damping"
  | "tendon_frictionloss"
  | "tendon_range"
  | "gravity"
  | "speed_limit";

/** Numbers of the model that each world draws anew with each episode: one of `set`, `scale` and `add`. */
export interface Randomisation {
  /** The field; several, such as mass and inertia, get the same draw for each object. */
  readonly field: RandomField | readonly RandomField[];
  /** Names of the objects, patterns with * among them, or ids. Default: all that have such a number. */
  readonly of?: string | number | readonly (string | number)[];
  /** Which numbers of each object. Default: all. */
  readonly element?: number | readonly number[];
  readonly set?: Distribution;
  readonly scale?: Distribution;
  readonly add?: Distribution;
  /** One draw for all of them. Default: one for each. */
  readonly shared?: boolean;
}

/** Numbers of an actuator. */
export type AmountName = "delay" | "lag" | "bias" | "backlash" | "peak" | "knee" | "noLoad";

/** A number, or what each world draws with each episode: a whole number of steps of `delay` is rounded to. */
export type Amount = number | Distribution;

/** What an actuator does beside what the MJCF says. */
export interface ActuatorReality {
  /** Physics steps that a control waits before it acts; until then the first of the episode acts. */
  readonly delay?: Amount;
  /** Time constant with which the control is followed after that (s). */
  readonly lag?: Amount;
  /** What the encoder reads beside the joint's position (rad, m). */
  readonly bias?: Amount;
  /** Width of the play between servo and joint, in which nothing is felt (rad, m). */
  readonly backlash?: Amount;
  /** The most force on the joint (N m, N) up to the speed `knee` (rad/s, m/s; default 0), falling to none at `noLoad`. */
  readonly torqueSpeed?: { readonly peak: Amount; readonly knee?: Amount; readonly noLoad: Amount };
  /** What makes the force instead, of errors and speeds of the last steps: see `actuatorNetwork`. */
  readonly network?: ActuatorNetwork;
  /** Whether the actuators that are meant draw together, as those on one bus. Default: each for itself. */
  readonly shared?: boolean;
}

/** Actuators by name, or by a pattern with * in it; of two that fit one the later counts, option by option. */
export type ActuatorRealities = Readonly<Record<string, ActuatorReality>>;

/** The terrain of a task. The middle of a world's patch is at the origin, at height 0. */
export interface TaskTerrain extends PlacedTerrain {
  /** Rows that the first episode of a world may be on, from the easiest. Default: 1 if worlds are promoted, else all. */
  readonly startRows?: number;
  /**
   * Conditions of the last step of an episode: whether the world goes on to the next harder row, or back to the easier
   * one. From beyond the hardest it comes to any row.
   */
  readonly promote?: TermSource<object>;
  readonly demote?: TermSource<object>;
}

/** What a term is worth: numbers, truth values, or an expression ("qvel(joint.slider) / dt"), or a function of these. */
export type TermValue = Scalar | Bool | string | readonly Scalar[];
export type TermSource<O extends object> = TermValue | ((scene: Scene<O>) => TermValue);

/** What is done to the value of a term, in this order. */
export interface TermOptions {
  /** Observations: noise that is added, normal of a standard deviation, or uniform in [low, high). */
  readonly noise?: number | { readonly uniform: readonly [number, number] };
  /** Clipped to [low, high]. */
  readonly clip?: readonly [number, number];
  readonly scale?: number | readonly number[];
  /** Factor of a term of the reward. */
  readonly weight?: number;
  /** Observations: this many of the latest values, newest first. At the start of an episode all are the first one. */
  readonly history?: number;
  /**
   * Observations: control steps that they are late, or [least, most], of which each episode draws its own. Until that many
   * are over it is the first one.
   */
  readonly delay?: number | readonly [number, number];
}

/** A term, plain or with what is done to it. */
export type Term<O extends object> = TermSource<O> | (TermOptions & { readonly value: TermSource<O> });
/** Terms by name, or a function that returns them. */
export type Terms<O extends object> = Named<Term<O>> | ((scene: Scene<O>) => Named<Term<O>>);
/** Observations by the name of their group, terms by name in each; that of the policy comes first, whatever the order. */
export type ObservationGroups<O extends object> = { readonly policy: Named<Term<O>> } & Named<Terms<O>>;

/** Defaults of a training run. */
export interface TrainingDefaults {
  readonly numEnvs: number;
  /** Env steps of the whole run. */
  readonly steps: number;
  /** Hyperparameters of the algorithm by name, beside its own defaults. */
  readonly config: Named<number | boolean | string | readonly number[]>;
  /** Options of the task in worlds that train, unless they are given: starts that teach, say. Evaluations have the task's. */
  readonly options?: Named<OptionValue>;
  /** Its dispatches are so short that Mesa's software driver makes them faster without threads of its own (measured). */
  readonly shortDispatches?: boolean;
  /** Updates between two evaluations, checkpoints, and copies on the host. */
  readonly evalEvery?: number;
  readonly checkpointEvery?: number;
  readonly snapshotEvery?: number;
}

/**
 * A task. Terms are expressions, functions or values; they are read while kernels are traced, so names and sizes come
 * from what they return, and functions must return the same names each time.
 */
export interface Task<O extends object = object> {
  /** Name of the environment: "Ant-v5". */
  readonly id: string;
  /** The MJCF: a file, or XML text. */
  readonly model: URL | string;
  /** Physics steps of a control step. */
  readonly frameSkip: number;
  /**
   * Which state derived fields are of: that before the last physics step, as `mj_step` leaves them, or, as in dm_control,
   * that after it, which takes another evaluation of frames and velocities. Forces, contacts and sensors are those of the
   * last step either way. Default: "before".
   */
  readonly derived?: "before" | "after";
  /** Control steps after which an episode is truncated; Infinity for no limit. */
  readonly maxEpisodeSteps: number;
  /** What `corral train` takes for it, by algorithm. */
  readonly training?: { readonly [algo in "ppo" | "sac" | "sac-discrete" | "dqn"]?: Partial<TrainingDefaults> };
  /** Every option of the task with its default. */
  readonly defaults?: O;
  /** Throws for options that do not fit the model. */
  readonly check?: (options: O, model: Model) => void;
  /** Default: a Box of actuator_ctrlrange. */
  readonly actionSpace?: (model: Model, options: O) => Space;
  /** Numbers of mjOption beside the MJCF's, such as `{ solver: "Newton" }`; options of the batch override them. */
  readonly physics?: OptionOverrides;
  /** Ranges and speeds of joints beside the MJCF's, by name or pattern; options of the batch override it. */
  readonly limits?: JointLimits;
  /** Ground of many patches, of which each episode of a world has one. */
  readonly terrain?: TaskTerrain;
  /** Parameters that the host may change between steps (`setParams`), for each world, with their first values. */
  readonly params?: Named<number | readonly number[]>;
  /** What is done to actions before they act; options of the batch override it. */
  readonly action?: ActionOptions;
  /** What is done to the observation; options of the batch override it. */
  readonly observation?: ObservationOptions;
  /** Controls of an action. Default: the action itself. */
  readonly control?: TermSource<O>;
  /** Derived fields that the functions below read, if they cannot be found by calling them. */
  readonly outputs?: (options: O) => readonly FieldName[];
  /** What terms share: expressions read it by its name, functions by `valueOf`. */
  readonly values?: Named<TermSource<O>>;
  /** What to keep for the next control step, per world. */
  readonly carry?: (scene: Scene<O>) => Named<readonly Scalar[]>;
  /**
   * Parts of the observation, in order; or groups of them, as in { policy: { ... }, critic: { ... } }. Rows hold all groups,
   * that of the policy first. Critics see the group "critic", if there is one; others are only observed.
   */
  readonly observe: Terms<O> | ObservationGroups<O>;
  /** Terms of the reward; their sum is the reward. */
  readonly reward: Terms<O>;
  /** Conditions that end an episode. */
  readonly terminated?: Terms<O>;
  /** Conditions that cut an episode short, beside the limit of control steps. */
  readonly truncated?: Terms<O>;
  /** Numbers reported beside the terms of the reward. */
  readonly info?: Terms<O>;
  /** Numbers reported of a reset. */
  readonly resetInfo?: Terms<O>;
  /** Numbers of the model that each world draws for itself. Numbers that MuJoCo derives from them are derived again. */
  readonly randomise?: Named<Randomisation>;
  /** What actuators do beside the MJCF, by name or pattern; options of the batch override it. */
  readonly actuators?: ActuatorRealities;
  /** What happens to worlds before the physics of a step: pushes, wind. All that is named acts at once. */
  readonly events?: Named<(scene: Scene<O>) => Disturbance>;
  /** The start of an episode. Default: the model's initial state. */
  readonly reset?: (scene: StartScene<O>) => Start;
}

/** Types a task by its defaults; returns it as it is. */
export const defineTask = <O extends object>(task: Task<O>): Task<O> => task;
