// what an environment's kernels are specialised to
import type { Model } from "../../model/model.ts";
import type { KernelSpec } from "../../batch/kernel/simulation-kernel.ts";
import type { Actuation } from "../task/action-options.ts";
import type { TaskShape } from "../task/shape.ts";
import type { TracedTask } from "../task/traced-task.ts";
import type { Space } from "../space/spaces.ts";
import type { Trip } from "./trips.ts";

/** What happens to worlds whose episode has ended. */
export type Autoreset = "next-step" | "same-step" | "disabled";

/** What an environment's kernels are specialised to. */
export interface EnvSpec<O extends object = object> {
  readonly task: TracedTask<O>;
  readonly options: O;
  readonly model: Model;
  readonly shape: TaskShape;
  readonly action: Space;
  readonly autoreset: Autoreset;
  /** Bits of the status word that make a world's numbers void, and bits that only end its episode. */
  readonly voids: number;
  readonly ends: number;
  /** What stands in for the numbers of a void step. */
  readonly finite: { readonly observation: number; readonly reward: number };
  readonly nconmax: number;
  /** Conditions of the user that trip the recorder. */
  readonly trips: readonly Trip<O>[];
  readonly exact: boolean;
  readonly params: KernelSpec["params"];
  /** What becomes of an action before it acts, and the bounds of a reward. */
  readonly actuation: Actuation;
  readonly rewardClip: readonly [number, number] | undefined;
}
