// the numbers that the host tells every kernel before a submission: twin of `Clock` in shaders/rl/common.wgsl

const WORDS = [
  ["rows", "u32", 1],
  ["first", "u32", 1],
  ["local", "u32", 1],
  ["t", "u32", 1],
  ["worlds", "u32", 1],
  ["steps", "u32", 1],
  ["samples", "u32", 1],
  ["flags", "u32", 1],
  ["seed", "u32", 2],
  ["draw", "u32", 1],
  ["half_bits", "u32", 1],
  ["keys", "u32", 4],
  ["chunk_rows", "u32", 1],
  ["chunks", "u32", 1],
  ["params4", "u32", 1],
  ["total4", "u32", 1],
  ["sum_parts", "u32", 1],
  ["log_std_at", "u32", 1],
  ["log_std_count", "u32", 1],
  ["obs4", "u32", 1],
  ["k4", "u32", 1],
  ["gamma", "f32", 1],
  ["lambda", "f32", 1],
  ["clip", "f32", 1],
  ["clip_value", "f32", 1],
  ["entropy_coef", "f32", 1],
  ["value_coef", "f32", 1],
  ["max_grad_norm", "f32", 1],
  ["learning_rate", "f32", 1],
  ["target_kl", "f32", 1],
  ["log_std_min", "f32", 1],
  ["log_std_max", "f32", 1],
  ["clip_reward", "f32", 1],
  ["clip_obs", "f32", 1],
  ["beta1", "f32", 1],
  ["beta2", "f32", 1],
  ["adam_eps", "f32", 1],
  ["adaptive_min", "f32", 1],
  ["adaptive_max", "f32", 1],
  ["ring_first", "u32", 1],
  ["ring_starts", "u32", 1],
  ["n_steps", "u32", 1],
  ["tau", "f32", 1],
  ["critic_rate", "f32", 1],
  ["alpha_rate", "f32", 1],
  ["target_entropy", "f32", 1],
  ["units", "u32", 1],
  ["lanes", "u32", 1],
  ["valid", "u32", 1],
  ["unroll", "u32", 1],
  ["weight_decay", "f32", 1],
] as const;

export type ClockField = (typeof WORDS)[number][0];

/** Bits of `flags`. */
export const Flag = {
  deterministic: 1,
  keep: 2,
  bootstrap: 4,
  firstMinibatch: 8,
  scaleReward: 16,
  adaptRate: 32,
  stopAtKl: 64,
  normalizeAdvantage: 128,
  squash: 256,
  firstStep: 512,
  random: 1024,
  collected: 2048,
} as const;

/** Words of the uniform buffer. */
export const CLOCK_WORDS = 64;
/** What an unlimited number is on the device. */
const LARGE = 3e38;

/** The clock's words on the host. */
export class Clock {
  readonly words = new Uint32Array(new ArrayBuffer(CLOCK_WORDS * 4));
  readonly #floats = new Float32Array(this.words.buffer);
  readonly #places = new Map<string, { at: number; type: "u32" | "f32" }>();

  constructor() {
    let at = 0;
    for (const [name, type, count] of WORDS) {
      this.#places.set(name, { at, type });
      at += count;
    }
  }

  set(values: Partial<Record<ClockField, number | readonly number[]>>): this {
    for (const [name, value] of Object.entries(values)) {
      const { at, type } = this.#places.get(name)!;
      const into = type === "f32" ? this.#floats : this.words;
      const list = typeof value === "number" ? [value] : value;
      list.forEach((x, i) => (into[at + i] = type === "f32" ? Math.max(-LARGE, Math.min(LARGE, x)) : x));
    }
    return this;
  }
}
