// force laws of contacts at the start of a search, which each of its points is compared with
import { array, type LocalArray } from "../../trace/control.ts";
import { band, bor, ne, select, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";

/** What a search asks of the law where it began. */
export interface LawBefore extends Pick<ContactLaw, "force" | "cost" | "inCone"> {
  /** Whether another piece of the cost holds for a law of the same contact, or only one of the two is in the cone. */
  differs(law: ContactLaw): Bool;
}

/** The bit that says whether the force is that inside of a cone; bits of the state follow. */
const IN_CONE = 1;

const bitsOf = ({ state, inCone }: ContactLaw): Int =>
  [inCone, ...state].reduce<Int>((bits, x, k) => bor(bits, select(x, toU32(1 << k), toU32(0), "u32")), toU32(0));

/** The laws of contacts by their runtime index. */
export class KeptLaw {
  readonly #force: readonly LocalArray[];
  readonly #cost: LocalArray;
  readonly #bits: LocalArray;

  constructor(dim: number, count: number) {
    this.#force = Array.from({ length: dim }, (_, k) => array(`force_before${k}`, count, "f32", true, true));
    this.#cost = array("cost_before", count, "f32", true, true);
    this.#bits = array("state_before", count, "u32", true, true);
  }

  set(index: Int, law: ContactLaw): void {
    law.force.forEach((f, k) => this.#force[k].set(index, f));
    this.#cost.set(index, law.cost);
    this.#bits.set(index, bitsOf(law));
  }

  at(index: Int): LawBefore {
    const force: readonly Scalar[] = this.#force.map((a) => a.get(index));
    const bits = this.#bits.get(index);
    return {
      force,
      cost: this.#cost.get(index),
      inCone: ne(band(bits, toU32(IN_CONE)), toU32(0)),
      differs: (law) => ne(bits, bitsOf(law)),
    };
  }
}
