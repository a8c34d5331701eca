// rows of a replay in the machine's memory, within the budget that batches on the CPU have too
import { CorralError } from "../../core/errors.ts";
import { hostBudget } from "../../memory/host-budget.ts";
import type { Hold } from "../../memory/budget.ts";
import { planBatch, type Plan } from "../../memory/plan.ts";
import { defaultLimits } from "../../memory/request.ts";
import type { RowStore } from "./row-store.ts";

/** Most bytes of one array. */
const CHUNK = 2 ** 30;

export interface RowsShape {
  readonly id: string;
  readonly worlds: number;
  readonly capacity: number;
  readonly observations: number;
  readonly actions: number;
}

/** Floats of a row: observation, action, reward, flags. */
export const rowWidth = ({ observations, actions }: RowsShape): number => observations + actions + 2;

/** The plan of the rows of a replay in memory. */
export function planHostRows(shape: RowsShape): Plan {
  const unlimited = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, Infinity]));
  const shared = shape.worlds * shape.capacity * rowWidth(shape);
  return planBatch({
    name: `${shape.id}.replay`,
    numEnvs: shape.worlds,
    limits: unlimited as unknown as typeof defaultLimits,
    maxShards: 1,
    arenas: [
      {
        name: "replay",
        access: "read_write",
        scope: "batch",
        fields: [
          {
            name: "rows",
            group: "replay",
            type: "f32",
            shared,
            remedy: 'a smaller bufferSize, or storage: "file"',
          },
        ],
      },
    ],
  });
}

export class HostRows implements RowStore {
  readonly capacity: number;
  readonly width: number;
  readonly bytes: number;
  readonly #chunks: readonly Float32Array<ArrayBuffer>[];
  readonly #chunkFloats: number;
  readonly #hold: Hold;
  #written = 0;

  private constructor(shape: RowsShape, plan: Plan, hold: Hold) {
    this.capacity = shape.capacity;
    this.width = rowWidth(shape);
    this.bytes = plan.totalBytes;
    this.#hold = hold;
    // a row lies in one chunk
    this.#chunkFloats = Math.floor(CHUNK / 4 / this.width) * this.width;
    const chunks: Float32Array<ArrayBuffer>[] = [];
    for (let left = plan.totalBytes / 4; left > 0; left -= this.#chunkFloats) {
      chunks.push(new Float32Array(Math.min(left, this.#chunkFloats)));
    }
    this.#chunks = chunks;
  }

  /** @throws BudgetExceededError before anything is allocated */
  static async create(shape: RowsShape): Promise<HostRows> {
    const plan = planHostRows(shape);
    const hold = await hostBudget().reserve(plan, plan.name);
    try {
      return new HostRows(shape, plan, hold);
    } catch (cause) {
      hold.release();
      const text = `the machine has no ${plan.totalBytes} bytes for ${plan.name}. Pass a smaller bufferSize, or storage: "file".`;
      throw new CorralError("host-out-of-memory", text, { bytes: plan.totalBytes }, { cause });
    }
  }

  get written(): number {
    return this.#written;
  }

  get oldest(): number {
    return Math.max(0, this.#written - this.capacity);
  }

  #row(world: number, number: number): Float32Array {
    const at = (world * this.capacity + (number % this.capacity)) * this.width;
    const inside = at % this.#chunkFloats;
    return this.#chunks[Math.floor(at / this.#chunkFloats)].subarray(inside, inside + this.width);
  }

  write(world: number, values: Float32Array): void {
    for (let i = 0; i * this.width < values.length; i++) {
      this.#row(world, this.#written + i).set(values.subarray(i * this.width, (i + 1) * this.width));
    }
  }

  advance(rows: number): void {
    this.#written += rows;
  }

  read(world: number, number: number, into: Float32Array): void {
    for (let i = 0; i * this.width < into.length; i++) into.set(this.#row(world, number + i), i * this.width);
  }

  copy(): Record<string, Uint32Array<ArrayBuffer>> {
    const copies: Record<string, Uint32Array<ArrayBuffer>> = { replay_written: new Uint32Array([this.#written]) };
    this.#chunks.forEach((chunk, i) => (copies[`replay_rows_${i}`] = new Uint32Array(chunk.slice().buffer)));
    return copies;
  }

  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>): undefined {
    this.#chunks.forEach((chunk, i) => {
      if (copies[`replay_rows_${i}`]?.length === chunk.length && copies.replay_written?.length === 1) return;
      throw new CorralError(
        "bad-snapshot",
        `the snapshot has no replay of ${this.capacity} rows of ${this.width} numbers. Restore into a learner of the same environment, numEnvs and storage.`,
      );
    });
    this.#chunks.forEach((chunk, i) => new Uint32Array(chunk.buffer).set(copies[`replay_rows_${i}`]));
    this.#written = copies.replay_written[0];
  }

  close(): void {
    (this.#chunks as Float32Array[]).length = 0;
    this.#hold.release();
  }
}
