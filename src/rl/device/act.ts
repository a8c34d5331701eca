// the policy in an environment: the same kernels that are trained, for one world or all
import { dispatch, type JobPass } from "./kernels.ts";
import { Flag, UNIFORM_SLOTS } from "../tables/device-tables.ts";
import type { DeviceCore } from "./device-core.ts";
import type { Bound } from "./bind-env.ts";
import type { UniformValues } from "./uniforms.ts";

/** A learner whose policy acts: rows that its network has room for, vec4s of their inputs, and how it runs. */
export interface Actor extends Pick<DeviceCore, "submit" | "uniforms" | "backing"> {
  readonly shape: { readonly rows: number; readonly k4: number };
  forward(pass: JobPass, rows: number): void;
  /** The same for worlds that act, if that is more: they may remember. */
  infer?(pass: JobPass, rows: number, flags: number): void;
  /** What comes between the networks and an action. */
  choose?(pass: JobPass, rows: number): void;
  /** What comes after what a step returned is stored. */
  stored?(pass: JobPass, rows: number): void;
}

/** Uniforms of a control step: its row of the rollout, the number of its draw. */
export interface ActValues {
  readonly t?: number;
  readonly draw?: number;
  readonly flags: number;
}

/** Worlds that one run of the network has room for. */
interface Part {
  readonly shard: Bound["shards"][number];
  readonly rows: number;
  readonly uniforms: UniformValues;
}

function partsOf({ shape }: Actor, { shards }: Bound): Part[] {
  return shards.flatMap((shard) =>
    Array.from({ length: Math.ceil(shard.worlds / shape.rows) }, (_, i) => {
      const local = i * shape.rows;
      const rows = Math.min(shape.rows, shard.worlds - local);
      return { shard, rows, uniforms: { rows, lanes: rows, local, first: shard.firstWorld + local } };
    }),
  );
}

function encodeAct(learner: Actor, pass: JobPass, { shard, rows }: Part, flags: number): void {
  dispatch(pass, shard.observe, rows * learner.shape.k4);
  if (learner.infer) learner.infer(pass, rows, flags);
  else learner.forward(pass, rows);
  if ((flags & Flag.bootstrap) === 0) learner.choose?.(pass, rows);
  dispatch(pass, shard.act, rows);
}

/** Puts what a control step returned into the row of the rollout; `Flag.firstStep` of an update starts its counts. */
function encodeStore(learner: Actor, pass: JobPass, { shard, rows }: Part): void {
  dispatch(pass, shard.store, rows);
  learner.stored?.(pass, rows);
}

/**
 * Fills the environment's actions by the policy; with `Flag.keep` the rollout's rows of step `t` too, with
 * `Flag.bootstrap` only the values of the last observations.
 */
export async function act(learner: Actor, bound: Bound, values: ActValues): Promise<void> {
  await eachPart(learner, bound, async (parts, shard) => {
    await bound.transfer?.observations(shard);
    for (const part of parts)
      learner.submit("act", { ...values, ...part.uniforms }, (pass) => encodeAct(learner, pass, part, values.flags));
    if ((values.flags & Flag.bootstrap) === 0) await bound.transfer?.actions(shard);
  });
}

/** Stores what a control step returned; see `encodeStore`. */
export async function store(learner: Actor, bound: Bound, values: ActValues): Promise<void> {
  await eachPart(learner, bound, async (parts, shard) => {
    await bound.transfer?.results(shard);
    for (const part of parts)
      learner.submit("store", { ...values, ...part.uniforms }, (pass) => encodeStore(learner, pass, part));
  });
}

async function eachPart(
  learner: Actor,
  bound: Bound,
  run: (parts: readonly Part[], shard: number) => Promise<void>,
): Promise<void> {
  const parts = partsOf(learner, bound);
  for (const shard of bound.shards)
    await run(
      parts.filter((part) => part.shard === shard),
      shard.index,
    );
}

/**
 * Control steps under the policy, stored in the rollout, in one submission: act, step, store, act, ...; `last`, if given,
 * acts once more after them. Of more steps than there are slots for uniforms each submission takes as many as it can.
 */
export async function collect(
  learner: Actor,
  bound: Bound,
  steps: readonly ActValues[],
  last?: ActValues,
): Promise<void> {
  const parts = partsOf(learner, bound);
  const { backing } = learner;
  const each = Math.floor(UNIFORM_SLOTS / parts.length) - (last ? 1 : 0);
  if (!backing.encode || each < 1) return collectApart(learner, bound, steps, last);
  for (let from = 0; from < steps.length; from += each) {
    await bound.env.stepOnDevice((encoder, step) =>
      backing.encode!("collect", learner.uniforms, encoder, (slot) => {
        const record = (values: ActValues, isLast: boolean) => {
          const passes = parts.map(({ uniforms }) => slot({ ...values, ...uniforms }));
          parts.forEach((part, i) => encodeAct(learner, passes[i], part, values.flags));
          if (isLast) return;
          step();
          parts.forEach((part, i) => encodeStore(learner, passes[i], part));
        };
        for (const values of steps.slice(from, from + each)) record(values, false);
        if (last && from + each >= steps.length) record(last, true);
      }),
    );
  }
}

/** The same on WebAssembly, and where worlds are more than a submission has slots for: step by step. */
async function collectApart(
  learner: Actor,
  bound: Bound,
  steps: readonly ActValues[],
  last: ActValues | undefined,
): Promise<void> {
  const { env } = bound;
  for (const values of steps) {
    await act(learner, bound, values);
    await env.step((env.gpu ?? env.wasm)!.actions, { readback: false });
    await store(learner, bound, values);
  }
  if (last) await act(learner, bound, last);
}
