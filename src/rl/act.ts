// the policy in an environment: the same kernels that are trained, for one world or all
import { dispatch } from "./kernels.ts";
import { Flag } from "./device-tables.ts";
import type { DeviceCore } from "./device-core.ts";
import type { Bound } from "./bind-env.ts";

type Shard = Bound["shards"][number];

/** A learner whose policy acts: rows that its network has room for, vec4s of their inputs, and how it runs. */
export interface Actor extends Pick<DeviceCore, "submit"> {
  readonly shape: { readonly rows: number; readonly k4: number };
  forward(pass: GPUComputePassEncoder, rows: number): void;
  /** The same for worlds that act, if that is more: they may remember. */
  infer?(pass: GPUComputePassEncoder, rows: number, flags: number): void;
  /** What comes between the networks and an action. */
  choose?(pass: GPUComputePassEncoder, rows: number): void;
  /** What comes after what a step returned is stored. */
  stored?(pass: GPUComputePassEncoder, rows: number): void;
}

/** Submits a pass for each part of the worlds that the network has room for. */
function forParts(
  learner: Actor,
  bound: Bound,
  what: string,
  values: { readonly t?: number; readonly draw?: number; readonly flags?: number },
  encode: (pass: GPUComputePassEncoder, shard: Shard, rows: number) => void,
): void {
  const room = learner.shape.rows;
  for (const shard of bound.shards) {
    for (let local = 0; local < shard.worlds; local += room) {
      const rows = Math.min(room, shard.worlds - local);
      const part = { ...values, rows, lanes: rows, local, first: shard.firstWorld + local };
      learner.submit(what, part, (pass) => encode(pass, shard, rows));
    }
  }
}

/**
 * Fills the environment's actions by the policy; with `Flag.keep` the rollout's rows of step `t` too, with
 * `Flag.bootstrap` only the values of the last observations.
 */
export function act(learner: Actor, bound: Bound, values: { t?: number; draw?: number; flags: number }): void {
  const { k4 } = learner.shape;
  forParts(learner, bound, "act", values, (pass, shard, rows) => {
    dispatch(pass, shard.observe, rows * k4);
    if (learner.infer) learner.infer(pass, rows, values.flags);
    else learner.forward(pass, rows);
    if ((values.flags & Flag.bootstrap) === 0) learner.choose?.(pass, rows);
    dispatch(pass, shard.act, rows);
  });
}

/** Puts what a control step returned into row `t` of every world; the `first` of an update starts its counts. */
export function store(learner: Actor, bound: Bound, t: number, first = t === 0): void {
  forParts(learner, bound, "store", { t, flags: first ? Flag.firstStep : 0 }, (pass, shard, rows) => {
    dispatch(pass, shard.store, rows);
    learner.stored?.(pass, rows);
  });
}
