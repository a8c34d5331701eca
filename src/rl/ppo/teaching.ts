// the teacher of a learner, and what it remembers beyond an update
import type { Space } from "../../env/space/spaces.ts";
import type { Labels, Teacher } from "./imitation.ts";
import type { Learner } from "./learner.ts";

/** The teacher of a learner, one at a time, and what it remembers beyond an update. */
export class Teaching {
  readonly #make: (teacher: Teacher) => Promise<Labels>;
  #labels: Labels | undefined;
  /** What the teacher of a snapshot remembered. */
  #recalled: Uint32Array<ArrayBuffer> | undefined;

  constructor(learner: Learner, space: Space, squash: boolean) {
    this.#make = async (teacher) => {
      const { Labels } = await import("./imitation.ts"); // a page that imitates nobody loads none of it
      return new Labels(learner, space, squash, teacher, this.#recalled);
    };
  }

  /** Throws `bad-peer` if the teacher sees or does something else. */
  async by(teacher: Teacher): Promise<Labels> {
    if (this.#labels?.teacher !== teacher) [this.#labels, this.#recalled] = [await this.#make(teacher), undefined];
    return this.#labels;
  }

  /** Has a teacher with a memory see a rollout that nobody labels. */
  follow(): Promise<void> | undefined {
    return this.#labels?.follow();
  }

  get memory(): Uint32Array<ArrayBuffer> | undefined {
    return this.#labels?.memory ?? this.#recalled;
  }

  /** The next teacher goes on with this. */
  recall(memory: Uint32Array<ArrayBuffer> | undefined): void {
    [this.#labels, this.#recalled] = [undefined, memory];
  }
}
