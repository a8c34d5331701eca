/**
 * A learner of your own in one file, in the manner of CleanRL: environments on the device, the agent in plain TypeScript
 * on the host. Of corral it uses nothing but the public API. Holds the pole of CartPole within half a minute.
 *
 *     npx tsx examples/ppo-minimal.ts [updates]
 *
 * That is in a clone, whose tsconfig.json says where "corral" is. Of the installed package, copy the file into your project, as
 * ppo-minimal.mts unless its package.json says "type": "module".
 */
import { makeVec, RandomStream } from "corral";

const UPDATES = Number(process.argv[2] ?? 40);
const [NUM_ENVS, STEPS, EPOCHS, MINIBATCH] = [32, 64, 6, 256];
const [GAMMA, LAMBDA, CLIP, LEARNING_RATE, HIDDEN] = [0.99, 0.95, 0.2, 3e-3, 16];
/** Values are learned in units of this many steps. */
const VALUE_UNIT = 50;

const random = new RandomStream(1, 0, 0, 2000);
let draws = 0;

/** x -> tanh(x W + b) -> one number, with its gradient and Adam. */
class Network {
  readonly #p: Float64Array;
  readonly #g: Float64Array;
  readonly #m: Float64Array;
  readonly #s: Float64Array;
  #steps = 0;
  readonly #width: number;

  constructor(inputs: number, gain: number) {
    this.#width = inputs + 1;
    const size = HIDDEN * this.#width + HIDDEN + 1;
    this.#p = Float64Array.from(
      { length: size },
      (_, i) => random.normal(draws + i) * (i < HIDDEN * this.#width ? 0.7 : gain),
    );
    draws += 2 * size;
    [this.#g, this.#m, this.#s] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  }

  #hidden(x: ArrayLike<number>): number[] {
    return Array.from({ length: HIDDEN }, (_, j) => {
      const at = j * this.#width;
      let sum = this.#p[at + this.#width - 1];
      for (let i = 0; i < this.#width - 1; i++) sum += this.#p[at + i] * x[i];
      return Math.tanh(sum);
    });
  }

  forward(x: ArrayLike<number>, h = this.#hidden(x)): number {
    const last = HIDDEN * this.#width;
    return h.reduce((sum, y, j) => sum + this.#p[last + j] * y, this.#p[last + HIDDEN]);
  }

  /** Adds the gradient of slope(y) * dy, and returns y. */
  backward(x: ArrayLike<number>, slope: (y: number) => number): void {
    const h = this.#hidden(x);
    const d = slope(this.forward(x, h));
    const last = HIDDEN * this.#width;
    this.#g[last + HIDDEN] += d;
    h.forEach((y, j) => {
      this.#g[last + j] += d * y;
      const inner = d * this.#p[last + j] * (1 - y * y);
      for (let i = 0; i < this.#width - 1; i++) this.#g[j * this.#width + i] += inner * x[i];
      this.#g[j * this.#width + this.#width - 1] += inner;
    });
  }

  /** Adam, downhill. */
  step(count: number): void {
    this.#steps++;
    for (let i = 0; i < this.#p.length; i++) {
      const g = this.#g[i] / count;
      this.#g[i] = 0;
      this.#m[i] = 0.9 * this.#m[i] + 0.1 * g;
      this.#s[i] = 0.999 * this.#s[i] + 0.001 * g * g;
      const mean = this.#m[i] / (1 - 0.9 ** this.#steps);
      this.#p[i] -= (LEARNING_RATE * mean) / (Math.sqrt(this.#s[i] / (1 - 0.999 ** this.#steps)) + 1e-8);
    }
  }
}

interface Row {
  readonly x: Float32Array;
  readonly action: number;
  readonly logProb: number;
  readonly value: number;
  /** The world is put into a new episode by this step; its action does nothing. */
  readonly skip: boolean;
  reward: number;
  terminated: boolean;
  truncated: boolean;
}

await using envs = await makeVec("CartPole", { numEnvs: NUM_ENVS, seed: 1 });
const nobs = envs.singleObservationSpace.size;
const policy = new Network(nobs, 0.01); // log odds of pushing to the right
const critic = new Network(nobs, 1);
const sigmoid = (y: number) => 1 / (1 + Math.exp(-y));

let observations = Float32Array.from((await envs.reset()).observations);
let ended = new Uint8Array(NUM_ENVS);
for (let update = 1; update <= UPDATES; update++) {
  // 1. collect
  const rows: Row[][] = [];
  let [returns, episodes] = [0, 0];
  for (let t = 0; t < STEPS; t++) {
    const row = Array.from({ length: NUM_ENVS }, (_, e): Row => {
      const x = observations.slice(e * nobs, (e + 1) * nobs);
      const p = sigmoid(policy.forward(x));
      const action = random.uniform(draws++) < p ? 1 : 0;
      const logProb = Math.log(action === 1 ? p : 1 - p);
      const value = VALUE_UNIT * critic.forward(x);
      return { x, action, logProb, value, skip: ended[e] === 1, reward: 0, terminated: false, truncated: false };
    });
    const step = await envs.step(Int32Array.from(row, ({ action }) => action));
    row.forEach((r, e) => {
      r.reward = step.rewards[e];
      [r.terminated, r.truncated] = [step.terminated[e] === 1, step.truncated[e] === 1];
    });
    ended = Uint8Array.from(row, (r) => (r.terminated || r.truncated ? 1 : 0));
    const { episode } = step.infos;
    if (episode) {
      for (const r of episode.r) returns += r;
      for (const over of episode.mask) episodes += over;
    }
    rows.push(row);
    observations = Float32Array.from(step.observations);
  }

  // 2. generalized advantage estimation: an episode that was cut short goes on in its last observation
  const samples: (Row & { advantage: number; target: number })[] = [];
  for (let e = 0; e < NUM_ENVS; e++) {
    let advantage = 0;
    let next = VALUE_UNIT * critic.forward(observations.subarray(e * nobs, (e + 1) * nobs));
    for (let t = STEPS - 1; t >= 0; t--) {
      const r = rows[t][e];
      if (!r.skip) {
        const delta = r.reward + (r.terminated ? 0 : GAMMA * next) - r.value;
        advantage = delta + (r.terminated || r.truncated ? 0 : GAMMA * LAMBDA * advantage);
        samples.push({ ...r, advantage, target: advantage + r.value });
      }
      next = r.value;
    }
  }
  const mean = samples.reduce((sum, s) => sum + s.advantage, 0) / samples.length;
  const deviation = Math.sqrt(samples.reduce((sum, s) => sum + (s.advantage - mean) ** 2, 0) / samples.length);

  // 3. the clipped surrogate, in shuffled minibatches
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = samples.length - 1; i > 0; i--) {
      const j = random.integer(draws++, i + 1);
      [samples[i], samples[j]] = [samples[j], samples[i]];
    }
    for (let first = 0; first < samples.length; first += MINIBATCH) {
      const batch = samples.slice(first, first + MINIBATCH);
      for (const { x, action, logProb, advantage, target } of batch) {
        const scaled = (advantage - mean) / (deviation + 1e-8);
        policy.backward(x, (y) => {
          const p = sigmoid(y);
          const ratio = Math.exp(Math.log(action === 1 ? p : 1 - p) - logProb);
          const follows = scaled >= 0 ? ratio < 1 + CLIP : ratio > 1 - CLIP;
          return follows ? -scaled * ratio * (action - p) : 0;
        });
        critic.backward(x, (y) => y - target / VALUE_UNIT);
      }
      policy.step(batch.length);
      critic.step(batch.length);
    }
  }
  const told =
    episodes > 0 ? `return ${(returns / episodes).toFixed(1)} over ${episodes} episodes` : "no episode ended";
  console.log(`update ${update}: ${told}`);
}
