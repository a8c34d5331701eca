// parameters of a task: numbers of each world that the host changes between steps
import { CorralError } from "../../core/errors.ts";
import { firstNotHeld, heldText } from "../../core/float32.ts";
import { checked } from "../../core/options.ts";
import { text } from "../../core/schema.ts";
import { inLine, show } from "../../core/show.ts";
import { alternatives } from "../../core/names.ts";
import type { ArenaLayout } from "../../memory/layout.ts";
import { locateWorld, worldsOf, worldsToSet } from "../../memory/shards.ts";
import { hostRecords, layoutsOf, type Batch, type HostRecords } from "../../batch/batch.ts";
import { putField, takeField } from "../../batch/host-records.ts";
import type { TaskShape } from "../task/shape.ts";

/** New values by name: one for all worlds that are named, or one for each, row-major [worlds, size]. */
export type ParamValues = { readonly [name: string]: number | ArrayLike<number> | undefined };

const ARENA = "task_params";

/** The host's side of the arena `task_params`: what each world has. Nothing is read back to change it. */
export class TaskParams {
  readonly #batch: Batch;
  readonly #shape: TaskShape;
  readonly #layout: ArenaLayout | undefined;
  readonly #records: HostRecords[] = [];
  readonly #width: number;
  readonly #row: Float64Array;

  constructor(batch: Batch, shape: TaskShape) {
    this.#batch = batch;
    this.#shape = shape;
    this.#layout = layoutsOf(batch.planned.plan)[ARENA];
    this.#width = shape.params.reduce((n, p) => n + p.size, 0);
    this.#row = new Float64Array(this.#width);
    if (!this.#layout) return;
    const words = this.#layout.bytesPerWorld / 4;
    const onCpu = batch.doubles;
    for (const { paddedWorlds } of batch.planned.plan.shards)
      this.#records.push(hostRecords(words * paddedWorlds, onCpu));
  }

  #part(given: string) {
    const name = checked("name", text(), given);
    let start = 0;
    for (const p of this.#shape.params) {
      if (p.name === name) return { ...p, start };
      start += p.size;
    }
    const known = this.#shape.params.map((p) => p.name);
    const { hint, nearest } = alternatives(name, known);
    throw new CorralError("unknown-param", `the task has no parameter "${inLine(name)}"; ${hint}.`, { name, nearest });
  }

  /**
   * Checks values for worlds.
   * @throws CorralError unknown-param, bad-shape, bad-value, bad-world
   */
  check(values: ParamValues, worlds?: readonly number[]): void {
    const { plan } = this.#batch.planned;
    if (typeof values !== "object" || values === null)
      throw new CorralError("bad-value", `parameters are ${show(values)}; pass values by name: { name: 1 }.`, {
        values,
      });
    if (worlds !== undefined && !Array.isArray(worlds))
      throw new CorralError("bad-world", `worlds are ${show(worlds)}; pass a list of worlds.`, { worlds });
    const count = worldsToSet(plan, worlds).length;
    for (const [name, given] of Object.entries(values)) {
      if (given === undefined) continue;
      const { size } = this.#part(name);
      const list = typeof given === "number" ? [given] : given;
      const length = (list as ArrayLike<number> | null)?.length;
      if (length !== size && length !== size * count) {
        const want = size === size * count ? `${size}` : `${size}, or ${count} worlds of ${size}: ${size * count}`;
        throw new CorralError("bad-shape", `${name} has ${length ?? "no"} values; pass ${want}.`, { name });
      }
      const { precision } = this.#batch;
      const bad = firstNotHeld(list, precision);
      if (bad >= 0)
        throw new CorralError(
          "bad-value",
          `${name}[${bad}] is ${show(list[bad])}; it must be ${heldText(list[bad], precision)}.`,
          {
            name,
            index: bad,
          },
        );
    }
  }

  /** Writes values that `check` has passed; worlds that are not named keep theirs. */
  async set(values: ParamValues, worlds?: readonly number[]): Promise<void> {
    const [layout, row] = [this.#layout, this.#row];
    const { plan } = this.#batch.planned;
    if (!layout) return;
    const list = worldsOf(plan, worlds);
    const given = Object.entries(values).flatMap(([name, x]) =>
      x === undefined ? [] : [{ ...this.#part(name), values: typeof x === "number" ? [x] : x }],
    );
    const touched = new Set<number>();
    list.forEach((world, i) => {
      const { shard, local } = locateWorld(plan, world);
      const place = plan.shards[shard];
      takeField(layout, ARENA, place, local, this.#records[shard], row, 0);
      for (const { start, size, values: numbers } of given) {
        const from = numbers.length === size ? 0 : i * size;
        for (let k = 0; k < size; k++) row[start + k] = numbers[from + k];
      }
      putField(layout, ARENA, place, local, this.#records[shard], row, 0);
      touched.add(shard);
    });
    for (const shard of touched) await this.#batch.write(ARENA, shard, this.#records[shard]);
  }

  /** The values of a parameter, [numEnvs, size]. */
  get(name: string): Float64Array {
    const { start, size } = this.#part(name);
    const { plan } = this.#batch.planned;
    const out = new Float64Array(plan.numEnvs * size);
    for (let world = 0; world < plan.numEnvs; world++) {
      const { shard, local } = locateWorld(plan, world);
      takeField(this.#layout!, ARENA, plan.shards[shard], local, this.#records[shard], this.#row, 0);
      out.set(this.#row.subarray(start, start + size), world * size);
    }
    return out;
  }

  get names(): string[] {
    return this.#shape.params.map(({ name }) => name);
  }

  /** Takes over what the device has, after a snapshot was put back. */
  async reload(): Promise<void> {
    for (const shard of this.#records.keys()) this.#records[shard] = await this.#batch.read(ARENA, shard);
  }
}
