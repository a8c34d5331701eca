// cones of contacts, kept for a step: each law and line would divide and take roots anew, and look friction up by the pair
import { array, type LocalArray } from "../../trace/control.ts";
import { isNode, type Int, type Scalar } from "../../trace/scalar.ts";
import { narrowed, normalD, type ConeParams } from "../constraint/cone.ts";

/** By the contact's runtime index; what is the same for all contacts stays a number. */
export class KeptCones {
  readonly #count: number;
  readonly #arrays = new Map<string, LocalArray>();
  #same: ReadonlyMap<string, Scalar> = new Map();

  constructor(count: number) {
    this.#count = count;
  }

  /** `D`: 1 / R of the normal. */
  set(index: Int, params: ConeParams, D: Scalar): void {
    const cone = narrowed(params);
    const named: [string, Scalar][] = [
      ["condim", cone.condim],
      ["mu", cone.mu],
      ["Dm", normalD(cone.mu, D)],
      ...cone.friction.map((x, k): [string, Scalar] => [`friction${k}`, x]),
      ...cone.tangentD.map((x, k): [string, Scalar] => [`tangentD${k}`, x]),
    ];
    this.#same = new Map(named);
    for (const [name, x] of named) {
      if (!isNode(x)) continue;
      const kept = array(`cone_${name}`, this.#count, "f32", true, true);
      this.#arrays.set(name, kept);
      kept.set(index, x);
    }
  }

  get(index: Int, dim: number): ConeParams & { readonly Dm: Scalar } {
    const of = (name: string) => this.#arrays.get(name)?.get(index) ?? this.#same.get(name)!;
    const tangents = (name: string) => Array.from({ length: dim - 1 }, (_, k) => of(`${name}${k}`));
    return {
      dim,
      condim: of("condim"),
      mu: of("mu"),
      Dm: of("Dm"),
      friction: tangents("friction"),
      tangentD: tangents("tangentD"),
    };
  }
}
