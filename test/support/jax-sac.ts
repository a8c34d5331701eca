// SAC's losses written in jax-js, which differentiates them by itself: a second opinion on every gradient
import { defaultDevice, grad, init, nn, numpy as np } from "@jax-js/jax";
import { forward, packLayers, unpackLayers, type Params } from "./jax-ppo.ts";
import { SATURATED, seenBy, softTarget, type MadeSac, type RefRow } from "./sac-case.ts";

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** Gradients of the summed losses, laid out as the kernels' parameters: of the critics, and of the policy. */
export async function jaxGradients(made: MadeSac): Promise<Float32Array> {
  await init("cpu");
  defaultDevice("cpu");
  const { shape, config, params, logAlpha } = made;
  const { policy, critics } = shape.nets;
  const rows = made.rows.filter(({ weight }) => weight > 0);
  const matrix = (of: (row: RefRow) => readonly number[]) => np.array(rows.map((row) => [...of(row)]));
  const actions = shape.env.actions;
  const flat = new Float32Array(params.length);

  for (const layers of critics) {
    const loss = (p: Params): np.Array => {
      const value = forward(
        p,
        layers,
        matrix((row) => [...row.action, ...seenBy(shape, "critic", row.obs)]),
      ).reshape([rows.length]);
      const error = value.sub(np.array(rows.map((row) => softTarget(made, params, row))));
      return error.ref.mul(error).mul(0.5).sum();
    };
    await packLayers(layers, grad(loss)(unpackLayers(layers, params)), flat);
  }

  const policyLoss = (p: Params): np.Array => {
    const out = forward(
      p,
      policy,
      matrix((row) => seenBy(shape, "policy", row.obs)),
    );
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
    const pair = np.concatenate([np.tanh(u), matrix((row) => seenBy(shape, "critic", row.obs))], 1);
    const values = critics.map((layers) =>
      forward(unpackLayers(layers, params), layers, pair.ref).reshape([rows.length]),
    );
    pair.dispose();
    return logProb.mul(Math.exp(logAlpha)).sub(np.minimum(values[0], values[1])).sum();
  };
  await packLayers(policy, grad(policyLoss)(unpackLayers(policy, params)), flat);
  return flat;
}
