// one world of a simulation on the CPU, whose steps and numbers need no waiting
import { layoutsOf } from "../batch/batch.ts";
import type { CpuBatch } from "../batch/cpu-batch.ts";
import { placeBatch } from "../batch/device.ts";
import { prepare, type SimulationOptions } from "../batch/simulation-spec.ts";
import { slotOf } from "../batch/adjustable.ts";
import { worldIndex } from "../memory/layout.ts";
import type { Model } from "../model/model.ts";

const ARENAS = ["state", "control", "derived"];

export class CpuWorld implements AsyncDisposable {
  readonly #batch: CpuBatch;

  private constructor(batch: CpuBatch) {
    this.#batch = batch;
  }

  /** `onTurns`: see `placeBatch`. Throws what `createSimulation` throws. */
  static async create(
    model: Model,
    options: Omit<SimulationOptions, "numEnvs"> & { readonly device: "cpu" | "cpu-f64" },
    onTurns: () => void,
  ): Promise<CpuWorld> {
    const given = { ...options, numEnvs: 1 };
    return new CpuWorld((await placeBatch(prepare(model, given).specFor, 1, given, onTurns)) as CpuBatch);
  }

  #places(name: string): { readonly numbers: Float64Array; readonly at: readonly number[] } {
    const { plan } = this.#batch.planned;
    const layouts = layoutsOf(plan);
    for (const arena of ARENAS) {
      const field = layouts[arena]?.fields.find((f) => f.name === name);
      if (!field) continue;
      const place = (_: unknown, e: number) => worldIndex(layouts[arena], field, plan.shards[0].paddedWorlds, 0, e);
      return { numbers: this.#batch.numbers(arena, 0), at: Array.from({ length: field.perWorld }, place) };
    }
    return { numbers: new Float64Array(), at: [] };
  }

  /** All zero but for `state`. */
  restart(state: Readonly<Record<string, Float64Array>>): void {
    for (const arena of ARENAS) if (layoutsOf(this.#batch.planned.plan)[arena]) this.#batch.numbers(arena, 0).fill(0);
    for (const [name, values] of Object.entries(state)) this.write(name, values);
  }

  read(name: string): Float64Array {
    const { numbers, at } = this.#places(name);
    return Float64Array.from(at, (i) => numbers[i]);
  }

  write(name: string, values: ArrayLike<number>): void {
    const { numbers, at } = this.#places(name);
    const held = this.#batch.precision === "f32" ? Math.fround : (x: number) => x;
    at.forEach((place, i) => (numbers[place] = held(values[i])));
  }

  adjust(name: string, value: number): void {
    this.#batch.setParam(slotOf(name), value);
  }

  /** Makes physics steps. Returns the status word of the last. */
  step(nstep: number): number {
    this.#batch.setParam("nstep", nstep);
    this.#batch.run("step");
    return this.read("status")[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#batch.close();
  }
}
