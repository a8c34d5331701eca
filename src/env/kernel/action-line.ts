// what becomes of an action before it acts: delay, hold, clip, scale
import type { Actuation } from "../task/action-options.ts";
import { variable, type Variable } from "../../trace/control.ts";
import {
  add,
  div,
  eq,
  mul,
  select,
  sub,
  toF32,
  toI32,
  toU32,
  umul,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { clipped } from "../task/finite.ts";
import type { Space } from "../space/spaces.ts";

/** Numbers that a world keeps of the actions before. */
export const actionWords = ({ delay, hold }: Actuation, size: number): number => (delay + (hold > 1 ? 1 : 0)) * size;

/** The actions of one world on their way to act, while its kernel is traced. */
export class ActionLine {
  /** Actions that wait, newest first, then the one that is held. */
  readonly kept: readonly Variable[];
  readonly #how: Actuation;
  readonly #space: Space;

  constructor(how: Actuation, space: Space) {
    this.#how = how;
    this.#space = space;
    this.kept = Array.from({ length: actionWords(how, space.size) }, (_, i) => variable(`waiting_${i}`, 0));
  }

  /** The action that acts in this step, or all controls where actions are for some actuators. `length`: control steps of the episode so far (u32). */
  next(given: readonly Scalar[], length: Int): readonly Scalar[] {
    const { delay, hold } = this.#how;
    const { size } = this.#space;
    const first = eq(length, 0);
    let acting = given.map(toF32);
    if (delay > 0) {
      const line = this.kept.slice(0, delay * size);
      const waiting = line.map((v, i) => select(first, acting[i % size], v.get()));
      [...acting, ...waiting.slice(0, -size)].forEach((x, i) => line[i].set(x));
      acting = waiting.slice(-size);
    }
    if (hold > 1) {
      const held = this.kept.slice(delay * size);
      const takes: Bool = eq(sub(toU32(length), umul(toU32(div(length, hold)), hold)), 0);
      acting = acting.map((x, i) => select(takes, x, held[i].get()));
      acting.forEach((x, i) => held[i].set(x));
    }
    return this.#space.kind === "box" ? this.#scaled(acting) : acting.map(toI32);
  }

  #scaled(action: readonly Scalar[]): Scalar[] {
    const { clip, scale, offset, part } = this.#how;
    const scaled = action.map((x, i) => {
      const within = clip ? clipped(x, clip[0], clip[1]) : x;
      return add(mul(within, scale?.[i] ?? 1), offset?.[i] ?? 0);
    });
    if (!part) return scaled;
    const controls: Scalar[] = [...part.rest];
    part.at.forEach((actuator, i) => (controls[actuator] = scaled[i]));
    return controls;
  }
}
