// one peer's objects, by handle: what it can make, call and close. Adds no rule of its own to the public API.
import { createSimulation } from "../batch/simulation.ts";
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { corralVersion } from "../core/version.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { list, taskOf } from "../env/registry.ts";
import { planTable } from "../memory/table.ts";
import { loadModel } from "../model/model.ts";
import { MJ_OPTIONS } from "../model/options.ts";
import { planKernelsOf, plannerOf, type PlanTarget } from "../sizing/plan.ts";
import { Served, unknownCall, type Arguments, type Calls } from "./served.ts";
import { ServedSimulation } from "./served-simulation.ts";
import type { PictureOptions } from "./env-pictures.ts";
import { ServedVec, type Paint } from "./served-vec.ts";
import { PROTOCOL, type ServeRequest } from "./wire.ts";

export interface ServiceOptions {
  /** The id of an environment for what a peer names: an id, or the path of a task file. */
  readonly envOf: (name: string) => Promise<string>;
}

/** `num_envs` is `numEnvs`; names that are MuJoCo's or the task's own stay. */
function optionsOf(given: object, own: readonly string[]): Record<string, unknown> {
  const stays = new Set<string>([...Object.keys(MJ_OPTIONS), ...own]);
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [stays.has(name) ? name : camel(name), value]),
  );
}

export class Service {
  readonly #held = new Map<number, Served>();
  readonly #options: ServiceOptions;
  readonly #calls: Calls;
  #greeted = false;
  #isOver = false;
  #next = 1;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#calls = {
      list: () => ({ ids: list() }),
      makeVec: (given) => this.#makeVec(given),
      planVec: (given) => this.#planVec(given),
      makeSimulation: (given) => this.#makeSimulation(given),
      planSimulation: (given) => this.#planSimulation(given),
    };
  }

  /**
   * Makes a call, of an object that is held or of the service. `tell` is called when the first of its arrays are there.
   * @throws CorralError bad-protocol, second-client, unknown-call, unknown-handle; what the call throws
   */
  async call({ call, of, with: given = {} }: ServeRequest, tell: () => void): Promise<unknown> {
    if (call === "hello") return this.#hello(given);
    if (!this.#greeted) throw badProtocol(undefined);
    if (call === "bye") {
      this.#isOver = true;
      return {};
    }
    if (of === undefined) {
      const known = Object.hasOwn(this.#calls, call) ? this.#calls[call] : undefined;
      if (known) return known(given, tell);
      throw unknownCall(call, ["hello", "bye", ...Object.keys(this.#calls)]);
    }
    const served = this.#held.get(of);
    if (!served)
      throw new CorralError("unknown-handle", `nothing is held as ${of}; it was closed, or never made.`, { of });
    if (call !== "close") return served.call(call, given, tell);
    this.#held.delete(of);
    await served.close();
    return {};
  }

  /** Whether the peer has said that it is done: a forked copy of it may hold the pipe open. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Closes all that is held. */
  async close(): Promise<void> {
    const all = [...this.#held.values()];
    this.#held.clear();
    await Promise.allSettled(all.map((served) => served.close()));
  }

  #hello({ protocol }: Arguments): object {
    if (protocol !== PROTOCOL) throw badProtocol(protocol);
    if (this.#greeted)
      throw new CorralError("second-client", "this server has its client. Start another for a second: corral serve.");
    this.#greeted = true;
    return { version: corralVersion(), protocol: PROTOCOL };
  }

  #hold(served: Served): object {
    const of = this.#next++;
    this.#held.set(of, served);
    return { of, facts: served.facts, arrays: served.arrays };
  }

  async #envAndOptions({ env, options = {} }: Arguments): Promise<[string, NamedOptions]> {
    const id = await this.#options.envOf(String(env));
    return [id, optionsOf(options as object, Object.keys(taskOf(id).defaults ?? {})) as unknown as NamedOptions];
  }

  async #makeVec(given: Arguments): Promise<object> {
    const [id, options] = await this.#envAndOptions(given);
    const { pictures } = given;
    // what draws is loaded where somebody looks
    const paint: Paint = async (env) =>
      (await import("./env-pictures.ts")).EnvPictures.create(env, taskOf(id), pictures as PictureOptions);
    const env = await makeVec(id, options);
    return this.#hold(await ServedVec.create(env, (served) => this.#hold(served), pictures ? paint : undefined));
  }

  async #planVec(given: Arguments): Promise<object> {
    return planned(...(await this.#envAndOptions(given)));
  }

  async #modelAndOptions({ model, options = {} }: Arguments) {
    return [await loadModel(String(model)), optionsOf(options as object, []) as never] as const;
  }

  async #makeSimulation(given: Arguments): Promise<object> {
    return this.#hold(new ServedSimulation(await createSimulation(...(await this.#modelAndOptions(given)))));
  }

  async #planSimulation(given: Arguments): Promise<object> {
    return planned(...(await this.#modelAndOptions(given)));
  }
}

/** A plan for the device that the options name, or for an adapter. */
async function planned(target: PlanTarget, options: Parameters<typeof plannerOf>[1]): Promise<object> {
  const { plan } = planKernelsOf(await plannerOf(target, options), options);
  return { plan, table: planTable(plan) };
}

function badProtocol(protocol: unknown): CorralError {
  const said = protocol === undefined ? "did not say hello" : `speaks version ${show(protocol)} of the protocol`;
  return new CorralError(
    "bad-protocol",
    `the peer ${said}; this corral speaks version ${PROTOCOL}. Say hello with it first: use the client of corral ${corralVersion()}.`,
    { protocol, want: PROTOCOL },
  );
}
