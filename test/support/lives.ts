// whole lives of simulations, for tests that make something fail in the middle of one
import { createHash } from "node:crypto";
import { expect } from "vitest";
import "../../envs/index.ts";
import { CorralError } from "../../src/core/errors.ts";
import { makeVec } from "../../src/env/index.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import type { Model } from "../../src/model/model.ts";
import {
  createSimulation,
  type Simulation,
  type SimulationOptions,
  type Snapshot,
} from "../../src/batch/simulation.ts";
import { loadTestModel } from "./mjcf.ts";
import { PATIENCE_MS } from "./patience.ts";

export const lifeOptions = {
  numEnvs: 20,
  shards: 2,
  snapshotEvery: 4,
  outputs: ["ncon"],
} as const satisfies SimulationOptions;

/** All that a simulation does: construct, step, write, read, snapshot, restore, close. Returns the hash of where it ends. */
export async function wholeLife(model: Model, gpu: GpuDevice): Promise<string> {
  await using simulation = await createSimulation(model, { ...lifeOptions, device: gpu });
  await simulation.setState({ qvel: Array<number>(model.nv).fill(0.1) }, [3]);
  for (let i = 0; i < 10; i++) {
    simulation.step();
    if (i % 3 === 0) await simulation.sync();
  }

  simulation.forward();
  await simulation.getState(["qpos", "ncon"]);
  const snapshot = await simulation.snapshot();
  await simulation.restore(snapshot);
  simulation.step(2);
  await simulation.sync();
  return await hashOf(simulation);
}

/** All that an environment does: construct, reset, step ten times, write, read, snapshot, restore, close. */
export async function wholeEnvLife(id: string, gpu: GpuDevice): Promise<string> {
  await using env = await makeVec(id, {
    numEnvs: 20,
    shards: 2,
    snapshotEvery: 4,
    autoreset: "same-step",
    device: gpu,
  });
  await env.reset({ seed: 5 });
  await env.setState({ qvel: Array<number>((await env.getState(["qvel"], [3])).qvel.length).fill(0.1) }, [3]);
  for (let i = 0; i < 10; i++) {
    const actions = env.actionSpace.sample(7, { draw: i });
    await (i % 3 === 0 ? env.step(actions) : env.step(actions, { readback: false }));
  }

  await env.read();
  await env.getState(["qpos", "episode_length"]);
  const snapshot = await env.snapshot();
  await env.reset();
  await env.restore(snapshot);
  const { observations } = await env.step(env.actionSpace.sample(7, { draw: 10 }));
  return createHash("sha256").update(observations).digest("hex");
}

/** A whole life by name. Returns the hash of where it ends. */
export interface Life {
  readonly name: string;
  /** Of the simulation beside it, which compiles quickly if it is the same. */
  readonly model: string;
  readonly live: (gpu: GpuDevice) => Promise<string>;
}

const simulation = (name: string): Life => ({
  name,
  model: name,
  live: async (gpu) => wholeLife(await loadTestModel(name), gpu),
});
const environment = (name: string, model: string): Life => ({ name, model, live: (gpu) => wholeEnvLife(name, gpu) });

/** Lives of a small model and of Ant. */
export const quickLives = [
  simulation("envs/inverted_pendulum"),
  environment("InvertedPendulum-v5", "envs/inverted_pendulum"),
];
export const antLives = [simulation("envs/ant"), environment("Ant-v5", "envs/ant")];

/** Hash of positions and velocities of all worlds. */
export async function hashOf(simulation: Simulation): Promise<string> {
  const { qpos, qvel } = await simulation.getState(["qpos", "qvel"]);
  return createHash("sha256").update(qpos).update(qvel).digest("hex");
}

/** The code of a corral error; any other error as text. */
export const codeOf = (error: unknown): string => (error instanceof CorralError ? error.code : String(error));

/** Fails where a promise takes too long: a hang must have a name. */
export async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Another simulation on the device, which must step to the same bits again and again. */
export class Bystander {
  readonly simulation: Simulation;
  readonly #start: Snapshot;
  readonly #wanted: string;

  private constructor(simulation: Simulation, start: Snapshot, wanted: string) {
    this.simulation = simulation;
    this.#start = start;
    this.#wanted = wanted;
  }

  static async create(model: Model, gpu: GpuDevice): Promise<Bystander> {
    const simulation = await createSimulation(model, { numEnvs: 9, device: gpu });
    simulation.step(3);
    const start = await simulation.snapshot();
    simulation.step(5);
    return new Bystander(simulation, start, await hashOf(simulation));
  }

  /** Bytes that it holds. */
  get bytes(): number {
    return this.simulation.plan.totalBytes;
  }

  async assertUnchanged(): Promise<void> {
    expect(await hashOf(this.simulation)).toBe(this.#wanted);
    await this.simulation.restore(this.#start);
    this.simulation.step(5);
    expect(await hashOf(this.simulation)).toBe(this.#wanted);
  }

  /** The same worlds on another device end if these would. */
  async assertGoesOnOn(gpu: GpuDevice): Promise<void> {
    await using moved = await this.simulation.restoreOn(gpu, this.#start);
    moved.step(5);
    expect(await hashOf(moved)).toBe(this.#wanted);
  }

  close(): Promise<void> {
    return this.simulation.close();
  }
}
