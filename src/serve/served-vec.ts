// a VectorEnv for a peer: actions come and results go through the mapped file, everything else as plain data
import type { EnvSpec } from "../env/kernel/env-kernel.ts";
import type { InfoColumn, Infos } from "../env/host/infos.ts";
import type { ResetOptions } from "../env/host/reset-request.ts";
import type { StepResult } from "../env/host/step-result.ts";
import type { ForkOptions } from "../env/host/time-travel.ts";
import type { VecSnapshot, VectorEnv } from "../env/host/vector-env.ts";
import type { Space } from "../env/space/spaces.ts";
import { planTable } from "../memory/table.ts";
import type { EnvPictures } from "./env-pictures.ts";
import { arrayTable, type ArrayRow, type ArrayTable, type Dtype } from "./mapped-file.ts";
import { Kept, Served, type Arguments, type Calls, type Hold } from "./served.ts";
import { StateExchange, type StateField } from "./state-exchange.ts";

/** What of a call's infos there is: names of numbers, of those of ended episodes, and whether worlds have a status word. */
interface InfoReply {
  readonly infos: readonly string[];
  readonly episode?: true;
  readonly final?: readonly string[];
  readonly status?: true;
}

/** Makes what draws the worlds of an environment. */
export type Paint = (env: VectorEnv) => Promise<EnvPictures>;

/** A space as plain data. */
function spaceFacts(space: Space): object {
  const { kind, dtype, shape } = space;
  if (kind === "box") return { kind, dtype, shape, low: space.low, high: space.high };
  if (kind === "discrete") return { kind, dtype, n: space.n, start: space.start };
  return { kind, dtype, nvec: space.nvec };
}

/** The arrays that an environment exchanges. Of every info there are values and a mask. */
function arraysOf(
  { spec, numEnvs, singleActionSpace, autoreset }: VectorEnv,
  float: Dtype,
  state: Omit<ArrayRow, "offset">,
  pictures: EnvPictures | undefined,
): ArrayTable {
  const { shape } = spec;
  const row = (name: string, dtype: Dtype, ...rest: readonly number[]): Omit<ArrayRow, "offset"> => ({
    name,
    dtype,
    shape: [numEnvs, ...rest],
  });
  const columns = (kind: string, names: readonly string[]) =>
    names.flatMap((name) => [row(`${kind}.${name}`, float), row(`${kind}._${name}`, "uint8")]);
  const endsInStep = autoreset === "same-step";
  return arrayTable([
    row("actions", singleActionSpace.dtype, ...singleActionSpace.shape),
    row("reset_mask", "uint8"),
    // in the order in which they are written
    row("observations", float, shape.nobs),
    row("rewards", float),
    row("terminated", "uint8"),
    row("truncated", "uint8"),
    ...columns("info", infoNames(spec)),
    row("status", "uint32"),
    row("episode.r", float),
    row("episode.l", "uint32"),
    row("episode._", "uint8"),
    ...shape.terms.map((name) => row(`episode.terms.${name}`, float)),
    ...(endsInStep ? [row("final_obs", float, shape.nobs), ...columns("final", infoNames(spec))] : []),
    state,
    // of one world at a time
    ...(pictures ? [{ name: "picture", dtype: "uint8" as const, shape: [pictures.height, pictures.width, 3] }] : []),
  ]);
}

const infoNames = ({ shape }: EnvSpec): string[] => [...new Set([...shape.terms, ...shape.infos, ...shape.resetInfos])];

export class ServedVec extends Served {
  readonly arrays: ArrayTable;
  readonly facts: object;
  protected readonly calls: Calls;
  readonly #env: VectorEnv;
  readonly #actions: Float32Array | Int32Array;
  readonly #mask: Uint8Array;
  readonly #status: Uint32Array;
  readonly #snapshots = new Kept<VecSnapshot>();
  readonly #pictures: EnvPictures | undefined;
  #last: { readonly key: string; readonly reply: InfoReply } | undefined;

  /** `hold` keeps what is forked from it for the same peer; `paint` makes what draws its worlds. Owns the environment, also where it fails. */
  static async create(env: VectorEnv, hold: Hold, paint?: Paint): Promise<ServedVec> {
    try {
      // an array of each name: its length is what one world has
      const values = await env.getState(env.stateNames, [0]);
      const fields = env.stateNames.map((name) => ({ name, shape: [values[name].length], size: values[name].length }));
      return new ServedVec(env, fields, hold, await paint?.(env), paint);
    } catch (error) {
      await env.close();
      throw error;
    }
  }

  private constructor(
    env: VectorEnv,
    fields: readonly StateField[],
    hold: Hold,
    pictures: EnvPictures | undefined,
    paint: Paint | undefined,
  ) {
    super();
    this.#pictures = pictures;
    const { numEnvs, singleActionSpace: action, singleObservationSpace: observation } = env;
    this.#env = env;
    const float = env.observations instanceof Float64Array ? "float64" : "float32";
    const state = new StateExchange(env, fields, () => this.file);
    this.arrays = arraysOf(env, float, state.array, pictures);
    this.#actions = new (action.kind === "box" ? Float32Array : Int32Array)(numEnvs * action.size);
    this.#mask = new Uint8Array(numEnvs);
    this.#status = new Uint32Array(numEnvs);
    this.facts = {
      id: env.id,
      numEnvs,
      autoreset: env.autoreset,
      action: spaceFacts(action),
      observation: { kind: "box", dtype: float, shape: observation.shape },
      groups: env.observationGroups,
      worldIds: env.worldIds,
      frameSkip: env.frameSkip,
      dt: env.frameSkip * env.model.opt.timestep,
      maxEpisodeSteps: env.maxEpisodeSteps,
      device: env.deviceName,
      terms: env.terms,
      fields,
      totalBytes: env.plan.totalBytes,
    };
    this.calls = {
      ...state.calls,
      step: (given, tell) => this.#step(given, tell),
      reset: (given) => this.#reset(given),
      read: () => this.#answer(() => env.read()),
      setParams: ({ values, worlds }) => env.setParams(values as never, worlds as number[] | undefined),
      getParam: ({ name }) => ({ values: env.getParam(String(name)) }),
      setOptions: ({ values }) => env.setOptions(values as object),
      health: () => env.health(),
      record: async ({ worlds, reason }) => ({ path: await env.record(worlds as number[], String(reason)) }),
      snapshot: async () => ({ snapshot: this.#snapshots.add(await env.snapshot()) }),
      restore: ({ snapshot }) => this.#answer(() => env.restore(this.#snapshots.get(snapshot))),
      drop: ({ snapshots }) => this.#snapshots.drop(snapshots as number[]),
      fork: async ({ worlds, times, recorder }) => {
        const options = recorder === undefined ? {} : { recorder: recorder as ForkOptions["recorder"] };
        const forked = await env.fork(worlds as number[], times as number | undefined, options);
        return hold(await ServedVec.create(forked, hold, paint));
      },
      seek: ({ step }) => this.#answer(() => env.seek(Number(step))),
      plan: () => ({ plan: env.plan, table: planTable(env.plan) }),
      ...(pictures && {
        render: async ({ world }) => this.file.write("picture", await pictures.draw(Number(world))),
      }),
    };
  }

  protected release(): Promise<void> {
    this.#pictures?.close();
    return this.#env.close();
  }

  async #step({ readback = true }: Arguments, tell: () => void): Promise<object> {
    this.file.read("actions", this.#actions);
    if (readback) return this.#answer(() => this.#env.step(this.#actions), tell);
    await this.#env.step(this.#actions, { readback: false });
    return {};
  }

  async #reset({ seed, masked, params }: Arguments): Promise<object> {
    if (masked) this.file.read("reset_mask", this.#mask);
    const options = { ...(params ? { params } : {}), ...(masked ? { mask: this.#mask } : {}) };
    return this.#answer(() => this.#env.reset({ seed, options } as ResetOptions));
  }

  async #answer(call: () => Promise<StepResult>, tell?: () => void): Promise<InfoReply> {
    // nothing happens if there is no room for the results
    const { file } = this;
    const { observations, rewards, terminated, truncated, infos } = await call();
    file.writeAll([
      ["observations", observations],
      ["rewards", rewards],
      ["terminated", terminated],
      ["truncated", truncated],
    ]);
    // the peer wakes and copies these while the others are written
    tell?.();
    const failed = infos.worldsWithStatus();
    const { episode, final_obs, final_info } = infos;
    const names = infos.names();
    const lastNames = final_info?.names();
    const out = columnsOf("info", infos, names);
    if (failed.length > 0) {
      this.#status.fill(0);
      for (const world of failed) this.#status[world] = infos.status(world);
      out.push(["status", this.#status]);
    }
    if (episode) {
      out.push(["episode.r", episode.r], ["episode.l", episode.l], ["episode._", episode.mask]);
      for (const [name, values] of Object.entries(episode.terms)) out.push([`episode.terms.${name}`, values]);
    }
    if (final_obs) out.push(["final_obs", final_obs.values]);
    if (final_info && lastNames) out.push(...columnsOf("final", final_info, lastNames));
    file.writeAll(out);
    return this.#reply(names, episode !== undefined, lastNames, failed.length > 0);
  }

  /** The reply of the call before where it says the same, which is in text already. */
  #reply(infos: readonly string[], ended: boolean, final: readonly string[] | undefined, failed: boolean): InfoReply {
    const key = `${infos.join()} ${ended} ${final?.join()} ${failed}`;
    if (key === this.#last?.key) return this.#last.reply;
    const reply = Object.freeze<InfoReply>({
      infos,
      ...(ended ? { episode: true } : {}),
      ...(final ? { final } : {}),
      ...(failed ? { status: true } : {}),
    });
    this.#last = { key, reply };
    return reply;
  }
}

/** The arrays of infos, in the order of the table. */
function columnsOf(kind: string, infos: Infos, names: readonly string[]): [string, NodeJS.ArrayBufferView][] {
  return names.flatMap((name) => {
    const { values, mask } = infos.get(name) as InfoColumn;
    return [
      [`${kind}.${name}`, values],
      [`${kind}._${name}`, mask],
    ];
  });
}
