// what a task makes of actions, on the host
import type { Scene, Task } from "../env/index.ts";
import { placeOf, sourceValue } from "../env/term-value.ts";
import type { Scalar } from "../trace/scalar.ts";

/** Rows of ctrl of rows of actions, `size` numbers each. */
export function controlsOf(task: Task<object>, actions: ArrayLike<number>, size: number): Float64Array {
  const { control } = task;
  if (!control) return Float64Array.from(actions);
  const controls: Scalar[] = [];
  for (let at = 0; at < actions.length; at += size) {
    // plain numbers go in, so plain numbers come out
    const action = Array.from({ length: size }, (_, i) => actions[at + i]);
    controls.push(
      ...(sourceValue(control, { action } as unknown as Scene, placeOf(task, "control")).items as Scalar[]),
    );
  }
  return Float64Array.from(controls as number[]);
}
