// what the service holds for its peer: an object with calls by name, and the arrays that go through a mapped file
import { inLine } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { MappedFile, type ArrayTable } from "./mapped-file.ts";

export type Arguments = Readonly<Record<string, unknown>>;
/** `tell` says that arrays are there which the peer reads first. */
export type Calls = Readonly<Record<string, (given: Arguments, tell: () => void) => unknown>>;

/** Keeps an object for the peer, and says what the peer must know of it. */
export type Hold = (served: Served) => object;

export abstract class Served {
  abstract readonly arrays: ArrayTable;
  /** What a peer must know of the object. */
  abstract readonly facts: object;
  /** The calls that it has, by name. */
  protected abstract readonly calls: Calls;
  #file: MappedFile | undefined;

  protected abstract release(): Promise<void>;

  /** Where arrays are exchanged. Throws `not-mapped`. */
  protected get file(): MappedFile {
    if (this.#file) return this.#file;
    throw new CorralError("not-mapped", "there is no file for arrays yet. Call map with the path of one first.");
  }

  /**
   * Calls by name.
   * @throws CorralError unknown-call with the nearest names, bad-map; what the object throws
   */
  async call(name: string, given: Arguments, tell: () => void): Promise<unknown> {
    if (name === "map") return this.#map(String(given.path));
    const call = Object.hasOwn(this.calls, name) ? this.calls[name] : undefined;
    if (call) return (await call(given, tell)) ?? {};
    throw unknownCall(name, ["map", ...Object.keys(this.calls)]);
  }

  #map(path: string): object {
    const file = new MappedFile(path, this.arrays);
    this.#file?.close();
    this.#file = file;
    return {};
  }

  async close(): Promise<void> {
    await this.release();
    this.#file?.close();
    this.#file = undefined;
  }
}

export function unknownCall(name: string, known: readonly string[]): CorralError {
  const near = nearest(name, known);
  return new CorralError(
    "unknown-call",
    `there is no call "${inLine(name)}"; ${near.length > 0 ? `nearest: ${near.join(", ")}` : `there are: ${known.join(", ")}`}.`,
    { name, nearest: near },
  );
}

/** Snapshots that a peer holds by number. */
export class Kept<T> {
  readonly #kept = new Map<number, T>();
  #next = 1;

  add(value: T): number {
    this.#kept.set(this.#next, value);
    return this.#next++;
  }

  /** Throws `no-snapshot`. */
  get(id: unknown): T {
    const found = this.#kept.get(id as number);
    if (found !== undefined) return found;
    throw new CorralError("no-snapshot", `snapshot ${String(id)} is not kept. Take one with snapshot().`, { id });
  }

  drop(ids: readonly number[]): void {
    for (const id of ids) this.#kept.delete(id);
  }
}
