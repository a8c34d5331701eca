// the policy in an environment: the same kernels that are trained, for one world or all
import { dispatch } from "./kernels.ts";
import type { Bound, Learner } from "./learner.ts";

type Shard = Bound["shards"][number];

/** Submits a pass for each part of the worlds that the network has room for. */
function forParts(
  learner: Learner,
  bound: Bound,
  what: string,
  values: { readonly t?: number; readonly draw?: number; readonly flags?: number },
  encode: (pass: GPUComputePassEncoder, shard: Shard, rows: number) => void,
): void {
  const room = learner.shape.rows;
  for (const shard of bound.shards) {
    for (let local = 0; local < shard.worlds; local += room) {
      const rows = Math.min(room, shard.worlds - local);
      const part = { ...values, rows, local, first: shard.firstWorld + local };
      learner.submit(what, part, (pass) => encode(pass, shard, rows));
    }
  }
}

/**
 * Fills the environment's actions by the policy; with `Flag.keep` the rollout's rows of step `t` too, with
 * `Flag.bootstrap` only the values of the last observations.
 */
export function act(learner: Learner, bound: Bound, values: { t?: number; draw?: number; flags: number }): void {
  const { k4 } = learner.shape;
  forParts(learner, bound, "act", values, (pass, shard, rows) => {
    dispatch(pass, shard.observe, rows * k4);
    learner.forward(pass, rows);
    dispatch(pass, shard.act, rows);
  });
}

/** Puts what a control step returned into step `t` of the rollout. */
export function store(learner: Learner, bound: Bound, t: number): void {
  forParts(learner, bound, "store", { t, flags: 0 }, (pass, shard, rows) => dispatch(pass, shard.store, rows));
}
