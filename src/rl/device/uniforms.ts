// the uniforms that the host sets before a submission: every kernel of the learner reads them
import type { AdamConfig } from "./shared-options.ts";
import { UNIFORMS } from "../tables/device-tables.ts";

export type Uniform = (typeof UNIFORMS.members)[number];
export type UniformValues = Partial<Readonly<Record<Uniform, number | readonly number[]>>>;

/** The uniforms on the host: set by name, what is not set stays. */
export class Uniforms {
  readonly words = new Uint32Array(new ArrayBuffer(UNIFORMS.size * 4));

  set(values: UniformValues): this {
    UNIFORMS.write(values, this.words);
    return this;
  }
}

/** The numbers of Adam and of the clipping before it. */
export const adamUniforms = (c: AdamConfig): UniformValues => ({
  max_grad_norm: c.maxGradNorm,
  beta1: c.beta1,
  beta2: c.beta2,
  adam_eps: c.adamEpsilon,
  weight_decay: c.weightDecay,
});
