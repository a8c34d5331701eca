// lines of contacts with elliptic cones along the search direction: made at its first point, read at all others
import { array, type LocalArray } from "../../trace/control.ts";
import { isNode, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ConeLine, ConeStart } from "../constraint/cone-line.ts";

const NUMBERS = ["N", "dN", "dudu", "flat", "beside", "slope"] as const;
type Numbers = Readonly<Record<(typeof NUMBERS)[number], Scalar>>;

/** By the contact's runtime index. */
export class ConeLines {
  readonly #numbers: readonly LocalArray[];
  readonly #start: Readonly<Record<keyof ConeStart, LocalArray>>;
  readonly #u: readonly LocalArray[];
  readonly #du: readonly LocalArray[];
  readonly #Dm: LocalArray;
  /** Kept where contacts differ in it. */
  readonly #mu: LocalArray;
  #sameMu: number | undefined;

  constructor(dim: number, count: number) {
    const column = (name: string) => array(`line_${name}`, count, "f32", true, true);
    this.#numbers = NUMBERS.map(column);
    [this.#u, this.#du] = ["u", "du"].map((name) => Array.from({ length: dim - 1 }, (_, k) => column(`${name}${k}`)));
    [this.#mu, this.#Dm] = ["mu", "Dm"].map(column);
    const start = array("line_start", count, "u32", true, true);
    this.#start = { start, inverseT: column("inverseT"), past: column("past") };
  }

  /** Keeps where a line begins. */
  begin(index: Int, at: ConeStart): void {
    for (const [name, kept] of Object.entries(this.#start)) kept.set(index, at[name as keyof ConeStart]);
  }

  beginning(index: Int): ConeStart {
    const { start, inverseT, past } = this.#start;
    return { start: start.get(index), inverseT: inverseT.get(index), past: past.get(index) };
  }

  /** `isKept`: its cone is kept. */
  set(index: Int, line: ConeLine, isKept: boolean): void {
    NUMBERS.forEach((name, i) => this.#numbers[i].set(index, line[name]));
    line.u.forEach((x, k) => this.#u[k].set(index, x));
    line.du.forEach((x, k) => this.#du[k].set(index, x));
    if (isKept) return;
    this.#Dm.set(index, line.Dm);
    if (isNode(line.mu)) this.#mu.set(index, line.mu);
    else this.#sameMu = line.mu;
  }

  /** `cone`: what it has of the line, where it is kept itself. */
  get(index: Int, cone?: Pick<ConeLine, "mu" | "Dm">): ConeLine {
    const read = (from: readonly LocalArray[]) => from.map((x) => x.get(index));
    const numbers = Object.fromEntries(NUMBERS.map((name, i) => [name, this.#numbers[i].get(index)]));
    const start = this.#start.start.get(index);
    const { mu, Dm } = cone ?? { mu: this.#sameMu ?? this.#mu.get(index), Dm: this.#Dm.get(index) };
    return { ...(numbers as unknown as Numbers), u: read(this.#u), du: read(this.#du), mu, Dm, start };
  }
}
