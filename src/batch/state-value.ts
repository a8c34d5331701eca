// what a host may set a field of the state to
import { CorralError } from "../core/errors.ts";
import { firstNotHeld, heldText, type FloatPrecision } from "../core/float32.ts";
import { show } from "../core/show.ts";

interface Rows {
  /** Numbers of a world. */
  readonly size: number;
  readonly worlds: readonly number[];
  /** How the batch holds them; "word" of whole numbers. */
  readonly held: FloatPrecision | "word";
}

const isWord = (x: number): boolean => x >= 0 && x < 2 ** 32 && Number.isInteger(x);
const first = (values: ArrayLike<number>, isRight: (x: number) => boolean): number =>
  Array.prototype.findIndex.call(values, (x: number) => !isRight(x));

/** @throws CorralError bad-value for the first of `values`, row-major [worlds, size], that the field `name` cannot be */
export function assertStateValues(name: string, values: ArrayLike<number>, { size, worlds, held }: Rows): void {
  const refuse = (at: number, must: string) => {
    const world = worlds[Math.floor(at / size)];
    const text = `${name}[${at % size}] of world ${world} is ${show(values[at])}; it must be ${must}.`;
    throw new CorralError("bad-value", text, { name, world });
  };
  const bad = held === "word" ? first(values, isWord) : firstNotHeld(values, held);
  if (bad >= 0) refuse(bad, held === "word" ? "a whole number of 32 bits" : heldText(values[bad], held));
  // MuJoCo's is a boolean
  const half = name === "eq_active" ? first(values, (x) => x === 0 || x === 1) : -1;
  if (half >= 0) refuse(half, "1, active, or 0");
}
