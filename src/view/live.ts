// worlds of an environment that go on: random actions, a policy, sliders; springs, keyframes, and steps back
import { formatBytes } from "../core/units.ts";
import type { VecSnapshot, VectorEnv } from "../env/host/vector-env.ts";
import { mjtTrn } from "../model/enums.ts";
import { copyArray, type MjModel } from "../model/mujoco.ts";
import { FAILED } from "../physics/status.ts";
import { nameIn } from "../render/read-scene.ts";
import type { Poses } from "../render/show.ts";
import type { Stage } from "../render/poses.ts";
import { AppliedPolicy } from "../rl/networks/apply-policy.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { posesOf } from "../runs/poses.ts";
import { contactsOf } from "./contacts.ts";
import type { Command, Facts, WorldValues } from "./messages.ts";
import type { RunFacts, RunWorlds } from "./run-messages.ts";
import type { Subject } from "./session.ts";
import { springImpulse } from "./spring.ts";

/** Bytes and count of snapshots that steps back take. */
const MOST_HISTORY = 2 ** 27;
const MOST_STEPS_BACK = 300;
/** Milliseconds that worlds of a run go on before they are taken anew. */
const ADOPT_MS = 10_000;

export interface LiveOptions {
  readonly seed: number;
  /** A policy of a run, which acts. */
  readonly policy: Policy | undefined;
  readonly actor: "policy" | "random" | "none";
  readonly note?: string;
  /** The run that trains, whose worlds these are: their policy comes with `adopt`. */
  readonly run?: RunFacts;
}

export class LiveSubject implements Subject {
  readonly facts: Facts;
  readonly #env: VectorEnv;
  readonly #stage: Stage;
  readonly #seed: number;
  #policy: AppliedPolicy | undefined;
  readonly #history: VecSnapshot[] = [];
  readonly #mostBack: number;
  readonly #sliders: number[];
  #actor: string;
  #world = 0;
  #contacts = false;
  #drag: Required<Pick<Command, "world" | "body" | "point" | "target">> | undefined;
  #time = 0;
  #adopted = -Infinity;
  #taken: RunWorlds["states"] | undefined;
  #broke: { readonly step: number; readonly text: string } | undefined;
  plots: Readonly<Record<string, number>> = {};
  values: readonly WorldValues[] = [];

  private constructor(env: VectorEnv, stage: Stage, first: Poses, options: LiveOptions) {
    const { seed, policy, actor, note, run } = options;
    this.#env = env;
    this.#stage = stage;
    this.#seed = seed;
    this.#policy = policy && new AppliedPolicy(policy, env.numEnvs);
    this.#actor = actor;
    this.#mostBack = Math.max(4, Math.min(MOST_STEPS_BACK, Math.floor(MOST_HISTORY / env.plan.totalBytes)));
    const actions = entriesOf(env, stage);
    this.#sliders = actions.map(({ low, high }) => Math.min(high, Math.max(low, 0)));
    const { model } = stage.oracle;
    this.facts = {
      title: env.id,
      kind: "live",
      worlds: env.numEnvs,
      device: `${env.deviceName}, ${formatBytes(env.plan.totalBytes)}`,
      dt: env.frameSkip * env.model.opt.timestep,
      radius: stage.radius,
      reach: stage.reach(first),
      home: stage.freeCamera(first),
      actors: [...(policy || run ? ["policy"] : []), "random", "sliders", "none"],
      actions,
      keyframes: Array.from({ length: model.nkey }, (_, k) => nameIn(model, "key", k) || `key ${k}`),
      steps: 0,
      scene: stage.scene,
      ...stage.places(env.numEnvs),
      ...(note === undefined ? {} : { note }),
      ...(run === undefined ? {} : { run }),
    };
  }

  /** Another policy acts from now on. */
  follow(policy: Policy): void {
    this.#policy = new AppliedPolicy(policy, this.#env.numEnvs);
  }

  /** Starts episodes. Takes over both: they are closed with this. */
  static async create(env: VectorEnv, stage: Stage, options: LiveOptions): Promise<LiveSubject> {
    await env.reset({ seed: options.seed });
    return new LiveSubject(env, stage, stage.poses(await posesOf(env)), options);
  }

  get step(): number {
    return this.#env.steps;
  }
  get time(): number {
    return this.#time;
  }
  get actor(): string {
    return this.#actor;
  }
  get back(): number {
    return this.#history.length;
  }
  /** What last broke a world since the last reset, if anything did by this step. */
  get at(): string | undefined {
    return this.#broke?.text;
  }

  async poses(): Promise<Poses> {
    const env = this.#env;
    const worlds = await posesOf(env);
    const poses = this.#stage.poses(worlds, this.#world);
    const names = ["time", "qpos", "qvel", "act"].filter((name) => env.stateNames.includes(name));
    const state: Record<string, Float64Array | undefined> = await env.getState(names, [this.#world]);
    this.#time = state.time?.[0] ?? 0;
    this.values = [{ world: this.#world, qpos: [...(state.qpos ?? [])], qvel: [...(state.qvel ?? [])] }];
    if (!this.#contacts) return poses;
    const actions = await env.readActions();
    const width = actions.length / env.numEnvs;
    // where the actions are the controls, MuJoCo gets them too
    const ctrl = width === env.model.nu ? [...actions.subarray(this.#world * width, (this.#world + 1) * width)] : [];
    const shift = this.#stage.put(worlds[this.#world]);
    return { ...poses, contacts: contactsOf(this.#stage.oracle, { ...state, ctrl }, this.#world, shift) };
  }

  async forward(): Promise<boolean> {
    const env = this.#env;
    this.#history.push(await env.snapshot());
    if (this.#history.length > this.#mostBack) this.#history.shift();
    await this.#take();
    await this.#pull();
    const result = await env.step(this.#actions());
    result.terminated.forEach((ends, world) => {
      if (ends || result.truncated[world]) this.#policy?.forget(world);
    });
    const [first, ...others] = result.infos.worldsWithStatus(FAILED);
    if (first !== undefined) {
      const names = result.infos.statusNames(first).join(", ");
      const more = others.length > 0 ? ` and ${others.length} more` : "";
      this.#broke = { step: env.steps, text: `world ${first}${more} broke in step ${env.steps} (${names})` };
    }
    const plots: Record<string, number> = { reward: result.rewards[this.#world] };
    for (const name of result.infos.names()) {
      const column = result.infos.get(name);
      if (column?.mask[this.#world]) plots[name] = column.values[this.#world];
    }
    const { qpos, qvel } = result.infos.drift?.find(({ world }) => world === this.#world) ?? {};
    if (qpos !== undefined && qvel !== undefined)
      Object.assign(plots, { "qpos from MuJoCo": qpos, "qvel from MuJoCo": qvel });
    this.plots = plots;
    return true;
  }

  /** Takes the policy of a run now, and the states of its worlds with the next step, if some time has gone since. */
  adopt({ states, policy }: RunWorlds): void {
    if (!this.#policy) this.#actor = "policy";
    this.#policy = new AppliedPolicy(policy, this.#env.numEnvs);
    if (performance.now() - this.#adopted > ADOPT_MS) this.#taken = states;
  }

  /** Puts the states of a run's worlds into these. */
  async #take(): Promise<void> {
    const states = this.#taken;
    if (states === undefined) return;
    this.#taken = undefined;
    this.#adopted = performance.now();
    this.#history.length = 0;
    // one that is not finite is of a world that broke, which starts anew in the run too
    await this.#env.setState(states).catch(() => {});
  }

  async backward(): Promise<boolean> {
    const snapshot = this.#history.pop();
    if (snapshot === undefined) return false;
    await this.#env.restore(snapshot);
    // it has not happened yet
    if (this.#broke !== undefined && this.#broke.step > this.#env.steps) this.#broke = undefined;
    return true;
  }

  #actions() {
    const env = this.#env;
    const random = env.actionSpace.sample(this.#seed, { draw: env.steps });
    if (this.#actor === "policy" && this.#policy) return this.#policy.act(env.observations);
    if (this.#actor === "none") return random.fill(0);
    if (this.#actor === "sliders")
      return random.map((_: number, i: number) => this.#sliders[i % this.#sliders.length] ?? 0);
    return random;
  }

  async #pull(): Promise<void> {
    if (!this.#drag || this.#drag.world >= this.#env.numEnvs) return;
    const { world, body, point, target } = this.#drag;
    const [pose] = (await posesOf(this.#env)).slice(world, world + 1);
    const { qvel } = await this.#env.getState(["qvel"], [world]);
    const shift = this.#stage.put(pose);
    this.#stage.oracle.write("qvel", qvel);
    const change = springImpulse(
      this.#stage.oracle,
      body,
      point,
      target.map((x, i) => x + shift[i]),
      this.facts.dt,
    );
    await this.#env.setState({ qvel: qvel.map((v, i) => v + change[i]) }, [world]);
  }

  async act({ do: what, value = 0, index = 0, world = 0, body = 0, point = [], target = [] }: Command): Promise<void> {
    const env = this.#env;
    const { model } = this.#stage.oracle;
    if (what === "reset") {
      this.#history.length = 0;
      this.#broke = undefined;
      await env.reset({ seed: this.#seed });
    } else if (what === "actor") this.#actor = this.facts.actors[value] ?? this.#actor;
    else if (what === "slider" && index < this.#sliders.length) {
      const { low, high, whole } = this.facts.actions[index];
      this.#sliders[index] = Math.min(high, Math.max(low, whole ? Math.round(value) : value));
    } else if (what === "world") this.#world = Math.min(env.numEnvs - 1, Math.max(0, Math.round(value)));
    else if (what === "contacts") this.#contacts = value > 0;
    else if (what === "release") this.#drag = undefined;
    else if (what === "drag" && body > 0 && body < model.nbody && point.length === 3 && target.length === 3)
      this.#drag = { world, body, point, target };
    else if (what === "keyframe" && value >= 0 && value < model.nkey && Number.isInteger(value)) {
      const sizes = { qpos: model.nq, qvel: model.nv, act: model.na } as const;
      const given = Object.entries(sizes).filter(([name, size]) => size > 0 && env.stateNames.includes(name));
      const values = given.map(([name, size]) => {
        const key = copyArray(model, `key_${name}`).slice(value * size, (value + 1) * size);
        return [name, Float64Array.from({ length: size * env.numEnvs }, (_, i) => key[i % size])];
      });
      await env.setState(Object.fromEntries(values) as Record<string, Float64Array>);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stage[Symbol.dispose]();
    await this.#env.close();
  }
}

/** The name of an actuator, or of the joint that it drives. */
function actuatorName(model: MjModel, id: number): string {
  const own = nameIn(model, "actuator", id);
  const isOfJoint = copyArray(model, "actuator_trntype")[id] <= mjtTrn.JOINTINPARENT;
  return own || !isOfJoint ? own : nameIn(model, "jnt", copyArray(model, "actuator_trnid")[2 * id]);
}

/** Entries of an action with their bounds; where there are none, 1. */
function entriesOf({ singleActionSpace: space }: VectorEnv, { oracle: { model } }: Stage): Facts["actions"] {
  const names = (count: number) =>
    Array.from({ length: count }, (_, i) =>
      count === model.nu ? actuatorName(model, i) || `action ${i}` : `action ${i}`,
    );
  const bounded = (x: number, otherwise: number) => (Number.isFinite(x) ? x : otherwise);
  if (space.kind === "discrete")
    return [{ name: "action", low: space.start, high: space.start + space.n - 1, whole: true }];
  if (space.kind === "multi-discrete")
    return names(space.size).map((name, i) => ({ name, low: 0, high: space.nvec[i] - 1, whole: true }));
  return names(space.size).map((name, i) => ({
    name,
    low: bounded(space.low[i], -1),
    high: bounded(space.high[i], 1),
    whole: false,
  }));
}
