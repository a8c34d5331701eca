// keeps whole episodes of worlds for a recording: state, actions, rewards and flags of every control step
import { corralVersion } from "../core/version.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { isRegistered, taskOf } from "../env/registry.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Row } from "../render/recording-bytes.ts";
import type { PlayedStep } from "../rl/evaluate.ts";
import { groundNames, groundOf } from "./ground-at.ts";

const STATE = ["time", "qpos", "qvel", "act", "mocap_pos", "mocap_quat"];

/** Rows of episodes while they are played. */
export class EpisodeRecorder {
  readonly #env: VectorEnv;
  readonly #names: readonly string[];
  readonly #ended: Row[][] = [];
  #open: Row[][] = [];
  #seed = 0;

  constructor(env: VectorEnv) {
    this.#env = env;
    this.#names = STATE.filter((name) => env.stateNames.includes(name));
  }

  /** Worlds have started episodes of a seed. */
  async start(seed: number): Promise<void> {
    this.#seed = seed;
    const { numEnvs, actionSpace, spec } = this.#env;
    const idle = new Float64Array(actionSpace.sample(0).length);
    const states = await this.#states();
    this.#open = states.map((state, world) => [
      this.#row(
        state,
        world,
        idle,
        { reward: 0, terminated: 0, truncated: 0 },
        spec.shape.terms.map(() => 0),
      ),
    ]);
    if (this.#open.length !== numEnvs) throw new Error("a world has no state");
  }

  /** Takes a step of all worlds, of those whose first episode goes on. */
  async step({ actions, result, playing, cuts }: PlayedStep): Promise<void> {
    const states = await this.#states();
    const { terms } = this.#env.spec.shape;
    const columns = terms.map((name) => result.infos.get(name)?.values);
    states.forEach((state, world) => {
      if (playing[world] === 0) return;
      const terminated = Number(result.terminated[world] !== 0);
      const truncated = Number(result.truncated[world] !== 0 || (cuts && terminated === 0));
      const flags = { reward: result.rewards[world], terminated, truncated };
      const values = columns.map((column) => column?.[world] ?? 0);
      this.#open[world].push(this.#row(state, world, actions, flags, values));
    });
  }

  /** The worlds' episodes are kept, `count` of them. */
  end(count: number): void {
    this.#ended.push(...this.#open.slice(0, count));
  }

  async #states(): Promise<Row[]> {
    const { numEnvs } = this.#env;
    const values = await this.#env.getState([...this.#names, ...groundNames(this.#env)]);
    return Array.from({ length: numEnvs }, (_, world) => ({
      ...Object.fromEntries(
        this.#names.map((name) => {
          const width = values[name].length / numEnvs;
          return [name, values[name].slice(world * width, (world + 1) * width)];
        }),
      ),
      ...groundOf(values, world),
    }));
  }

  #row(
    state: Row,
    world: number,
    actions: ArrayLike<number>,
    flags: Readonly<Record<"reward" | "terminated" | "truncated", number>>,
    terms: readonly number[],
  ): Row {
    const width = actions.length / this.#env.numEnvs;
    const action = Array.from({ length: width }, (_, i) => actions[world * width + i]);
    const scalars = Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, [value]]));
    const ids = { world: [this.#env.worldIds[world]], seed: [this.#seed] };
    return { ...state, action, ...scalars, ...(terms.length > 0 ? { reward_terms: terms } : {}), ...ids };
  }

  /** The bytes of the file, with the model and what of it can only be looked at. Throws what `loadModel` throws. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const { spec, id, frameSkip, model } = this.#env;
    // of a task that nobody registered, what is simulated is all that is known
    const { source } = isRegistered(id) ? await loadTaskModel(taskOf(id), { visuals: true }) : model;
    const about = {
      corral: corralVersion(),
      id,
      control_dt: frameSkip * model.opt.timestep,
      reward_terms: spec.shape.terms,
    };
    const { recordingBytes } = await import("../render/recording-bytes.ts");
    return await recordingBytes(about, source, this.#ended);
  }
}
