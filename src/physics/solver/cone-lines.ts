// lines of contacts with elliptic cones along the search direction: made at its first point, read at all others
import { array, type LocalArray } from "../../trace/control.ts";
import { isNode, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ConeLine } from "../constraint/cone-line.ts";

const NUMBERS = ["Dm", "N", "dN", "dudu", "flat", "beside", "slope"] as const;
type Numbers = Readonly<Record<(typeof NUMBERS)[number], Scalar>>;

/** By the contact's runtime index. */
export class ConeLines {
  readonly #numbers: readonly LocalArray[];
  readonly #start: LocalArray;
  readonly #u: readonly LocalArray[];
  readonly #du: readonly LocalArray[];
  /** Kept where contacts differ in it. */
  readonly #mu: LocalArray;
  #sameMu: number | undefined;

  constructor(dim: number, count: number) {
    const column = (name: string) => array(`line_${name}`, count, "f32", true, true);
    this.#numbers = NUMBERS.map(column);
    [this.#u, this.#du] = ["u", "du"].map((name) => Array.from({ length: dim - 1 }, (_, k) => column(`${name}${k}`)));
    this.#mu = column("mu");
    this.#start = array("line_start", count, "u32", true, true);
  }

  set(index: Int, line: ConeLine): void {
    NUMBERS.forEach((name, i) => this.#numbers[i].set(index, line[name]));
    line.u.forEach((x, k) => this.#u[k].set(index, x));
    line.du.forEach((x, k) => this.#du[k].set(index, x));
    this.#start.set(index, line.start);
    if (isNode(line.mu)) this.#mu.set(index, line.mu);
    else this.#sameMu = line.mu;
  }

  get(index: Int): ConeLine {
    const read = (from: readonly LocalArray[]) => from.map((x) => x.get(index));
    const numbers = Object.fromEntries(NUMBERS.map((name, i) => [name, this.#numbers[i].get(index)]));
    const mu = this.#sameMu ?? this.#mu.get(index);
    const start = this.#start.get(index);
    return { ...(numbers as unknown as Numbers), u: read(this.#u), du: read(this.#du), mu, start };
  }
}
