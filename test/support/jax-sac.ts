// SAC's losses written in jax-js, which differentiates them by itself: a second opinion on every gradient
import type { Cell } from "../../src/rl/networks/networks.ts";
import { defaultDevice, grad, init, nn, numpy as np } from "@jax-js/jax";
import { alongCell, forward, packLayers, unpackLayers, type Params } from "./jax-ppo.ts";
import { isReset, SATURATED, seenBy, softTargets, type MadeSac, type RefRow } from "./sac-case.ts";

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** Gradients of the summed losses, laid out as the kernels' parameters: of the critics, and of the policy. */
export async function jaxGradients(made: MadeSac): Promise<Float32Array> {
  await init("cpu");
  defaultDevice("cpu");
  const { shape, config, params, logAlpha } = made;
  const { policy, critics, cells } = shape.nets;
  const rows = made.rows.slice(0, shape.learnt);
  const weights = () => np.array(rows.map(({ weight }) => weight));
  const matrix = (of: (row: RefRow) => readonly number[]) => np.array(rows.map((row) => [...of(row)]));
  const actions = shape.env.actions;
  const flat = new Float32Array(params.length);

  const observed = (network: "policy" | "critic") => matrix((row) => seenBy(shape, network, row.obs));
  /** What a cell makes of what it gets from below at every row. */
  const remembered = (p: Params, { hh }: Cell, below: np.Array) => {
    const start = np.zeros([shape.cells!.lanes, 4 * shape.cells!.policy.state4]);
    return alongCell(
      p,
      cells!,
      hh,
      below,
      start,
      rows.map((_, row) => isReset(row)),
    );
  };
  /** What critics see. */
  const seen = (p: Params) => {
    if (!cells) return observed("critic");
    const memory = remembered(p, cells.critics, forward(p, [cells.critics.ih], observed("critic")));
    return np.concatenate([observed("critic"), memory], 1);
  };

  const criticLoss = (p: Params): np.Array => {
    const pair = np.concatenate([matrix((row) => row.action), seen(p)], 1);
    const goals = np.array(softTargets(made, params).slice(0, rows.length));
    const losses = critics.map((layers) => {
      const error = forward(p, layers, pair.ref).reshape([rows.length]).sub(goals.ref);
      return error.ref.mul(error).mul(weights()).mul(0.5).sum();
    });
    pair.dispose();
    goals.dispose();
    return losses[0].add(losses[1]);
  };
  const judging = [...critics.flat(), ...(cells ? [cells.critics.ih, cells.critics.hh] : [])];
  await packLayers(judging, grad(criticLoss)(unpackLayers(judging, params)), flat);

  const acting = [...policy, ...(cells ? [cells.policy.hh] : [])];
  const policyLoss = (p: Params): np.Array => {
    const at = cells ? policy.indexOf(cells.policy.ih) + 1 : policy.length;
    const below = forward(p, policy.slice(0, at), observed("policy"));
    const out = cells ? forward(p, policy.slice(at), remembered(p, cells.policy, below)) : below;
    const mean = out.ref.slice([], [0, actions]);
    const raw = out.slice([], [actions, 2 * actions]);
    const logStd = np.clip(raw, config.minLogStd, config.maxLogStd);
    const noise = () => matrix((row) => row.newNoise);
    const u = mean.add(np.exp(logStd.ref).mul(noise()));
    const exact = u.ref
      .add(nn.softplus(u.ref.mul(-2)))
      .neg()
      .add(Math.log(2))
      .mul(2);
    const logSlope = np.log(np.exp(exact).add(SATURATED));
    const z = noise();
    const logProb = z.ref.mul(z).mul(-0.5).sub(logStd).sub(HALF_LOG_2PI).sub(logSlope).sum(1);
    const pair = np.concatenate([np.tanh(u), seen(unpackLayers(judging, params))], 1);
    const values = critics.map((layers) =>
      forward(unpackLayers(layers, params), layers, pair.ref).reshape([rows.length]),
    );
    pair.dispose();
    return logProb.mul(Math.exp(logAlpha)).sub(np.minimum(values[0], values[1])).mul(weights()).sum();
  };
  await packLayers(acting, grad(policyLoss)(unpackLayers(acting, params)), flat);
  return flat;
}
