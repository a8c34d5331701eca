// the memories of a task in one world: registers that are updated once a step, while a kernel is traced
import { variable, type Variable } from "../../trace/control.ts";
import { select, toF32, type Bool, type Scalar } from "../../trace/scalar.ts";
import { badTask, type Memory } from "../task/shape.ts";
import type { Scene, Update } from "../task/task.ts";

const values = (variables: readonly Variable[]): Scalar[] => variables.map((v) => v.get());

export class Memories {
  readonly #task: string;
  readonly #all: ReadonlyMap<string, Memory & { readonly kept: readonly Variable[] }>;

  constructor(task: string, memories: readonly Memory[]) {
    this.#task = task;
    const registers = ({ size }: Memory) => Array.from({ length: size }, (_, i) => variable(`memory_${i}`, 0));
    this.#all = new Map(memories.map((m) => [m.name, { ...m, kept: registers(m) }]));
  }

  /** All registers, in order. */
  get kept(): Variable[] {
    return [...this.#all.values()].flatMap((m) => m.kept);
  }

  /** What a memory holds. */
  read(key: string): Scalar[] {
    return values(this.#of(key).kept);
  }

  /** What a memory that persists has where an episode starts: zeros if it `forgets`. */
  persistent(key: string, forgets: Bool): Scalar[] | undefined {
    const { persists, kept } = this.#of(key);
    return persists ? values(kept).map((x) => select(forgets, 0, x, "f32")) : undefined;
  }

  /** What all of them hold after a scene, in the order of `kept`. */
  after<O extends object>(scene: Scene<O>): Scalar[] {
    return [...this.#all.values()].flatMap(({ name, size, update }) => {
      const next = scene.updated(name, update as unknown as Update<O>);
      if (next.length === size) return next.map(toF32);
      throw badTask(this.#task, `its memory "${name}" has ${next.length} values after ${size}; it keeps its size`);
    });
  }

  #of(key: string) {
    const memory = this.#all.get(key);
    if (memory) return memory;
    throw badTask(this.#task, `its memory "${key}" was not asked for when it was traced first; ask for it each time`);
  }
}
