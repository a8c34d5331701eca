// trees that an iteration acts on: what it would make of all others is known from before
import { array, loop, table, type LocalArray } from "../../trace/control.ts";
import { add, ne, select, type Bool, type Int } from "../../trace/scalar.ts";
import type { ModelView } from "../view.ts";

/** Trees of a model up to which all of them are factored and solved each time. */
const FEW_TREES = 3;

const markIf = (is: Bool, marks: LocalArray, tree: Int): void => marks.set(tree, select(is, 1, marks.get(tree), "i32"));

/**
 * Marks of trees. One on which neither this iteration nor the one before has put stiffness has the factor of then, and one
 * that nothing couples has the same solution in every turn of the conjugate gradients around the trees.
 */
export class TouchedTrees {
  readonly #count: number;
  readonly #ofBody: (body: Int) => Int;
  readonly #ofDof: (dof: Int) => Int;
  /** By tree, after what is static: whether this iteration and the one before put stiffness on it. */
  readonly #now: LocalArray;
  readonly #before: LocalArray;
  /** Whether something couples it to another. */
  readonly #coupled: LocalArray;

  /** Undefined where a model has few trees, or a lane no room for marks. */
  static of(m: ModelView): TouchedTrees | undefined {
    return m.form.hasRoom && m.model.ntree > FEW_TREES ? new TouchedTrees(m) : undefined;
  }

  private constructor({ model }: ModelView) {
    const place = (tree: number) => tree + 1;
    this.#count = place(model.ntree);
    this.#ofBody = table("touched_body", Array.from(model.body_treeid, place), "i32");
    this.#ofDof = table("touched_dof", Array.from(model.dof_treeid, place), "i32");
    const marks = (name: string) => array(`tree_${name}`, this.#count, "i32");
    this.#now = marks("touched");
    this.#before = marks("touched_before");
    this.#coupled = marks("coupled");
  }

  /** Begins an iteration, which has touched nothing yet. */
  begin(): void {
    loop(this.#count, (t) => {
      this.#before.set(t, this.#now.get(t));
      this.#now.set(t, 0);
    });
  }

  touch(body: Int): void {
    this.#now.set(this.#ofBody(body), 1);
  }

  touchDof(dof: Int, isTouched: Bool): void {
    markIf(isTouched, this.#now, this.#ofDof(dof));
  }

  /** Whether the factor of a body's tree may be another than that of the iteration before. */
  isNew(body: Int): Bool {
    const tree = this.#ofBody(body);
    return ne(add(this.#now.get(tree), this.#before.get(tree)), 0);
  }

  /** Begins a list of couplings. */
  uncouple(): void {
    loop(this.#count, (t) => this.#coupled.set(t, 0));
  }

  couple(body: Int): void {
    this.#coupled.set(this.#ofBody(body), 1);
  }

  coupleDof(dof: Int, isCoupled: Bool): void {
    markIf(isCoupled, this.#coupled, this.#ofDof(dof));
  }

  isCoupled(body: Int): Bool {
    return ne(this.#coupled.get(this.#ofBody(body)), 0);
  }

  isCoupledDof(dof: Int): Bool {
    return ne(this.#coupled.get(this.#ofDof(dof)), 0);
  }
}
