// what several of Gymnasium's tasks say the same way
import {
  bodyId,
  positionsAndVelocities,
  sumOfSquares,
  uniformNoise,
  type Scene,
  type StartScene,
} from "../src/env/index.ts";
import {
  add,
  and,
  div,
  eq,
  floor,
  ge,
  mul,
  not,
  select,
  sqrt,
  square,
  sub,
  sum,
  toF32,
  type Bool,
  type Scalar,
} from "../src/trace/scalar.ts";
import { BALANCING } from "./training.ts";

/** The length of a vector. */
export const norm = (v: readonly Scalar[]): Scalar => sqrt(sum(v.map(square)));

/** Where a body is, as the last evaluation left it. */
export const xposOf = ({ d, model }: Scene, body: string) => d.xpos.vec3(bodyId(model, "body", body));

/** From one body to another. */
export function between(s: Scene, from: string, to: string): Scalar[] {
  const start = xposOf(s, from);
  return xposOf(s, to).map((x, k) => sub(x, start[k]));
}

/** The root's place in the plane. */
export const place = ({ d }: Scene) => ({
  x_position: d.qpos.at(0),
  y_position: d.qpos.at(1),
  distance_from_origin: norm(d.qpos.run(0, 2)),
});

/** Velocity along x of a body that moves in a plane, over the control step. */
export const forwardVelocity = ({ d, before, dt }: Scene) => div(sub(d.qpos.at(0), before.qpos[0]), dt);

/** Where such a body is, and how far above its start. */
export const placeInPlane = ({ d, model }: Scene) => ({
  x_position: d.qpos.at(0),
  z_distance_from_origin: sub(d.qpos.at(1), model.qpos0[1]),
});

/** Positions around `qpos0` and velocities around zero, both uniform. */
export const uniformStart = (s: StartScene<{ reset_noise_scale: number }>) => ({
  qpos: uniformNoise(s, s.model.qpos0, s.options.reset_noise_scale),
  qvel: uniformNoise(s, new Float64Array(s.model.nv), s.options.reset_noise_scale),
});

/** Options of a planar walker. */
interface PlanarOptions {
  readonly forward_reward_weight: number;
  readonly ctrl_cost_weight: number;
  readonly healthy_reward: number;
  readonly terminate_when_unhealthy: boolean;
  readonly reset_noise_scale: number;
  readonly exclude_current_positions_from_observation: boolean;
}

/** Legs in a plane that learn to go along x and are done when they are not healthy: all of Hopper and Walker2d but that. */
export const planarWalker = <O extends PlanarOptions>(isHealthy: (s: Scene<O>) => Bool) => ({
  frameSkip: 4,
  maxEpisodeSteps: 1000,
  training: { ppo: BALANCING },

  observe: (s: Scene<O>) => positionsAndVelocities(s, s.options.exclude_current_positions_from_observation ? 1 : 0, 10),
  reward: (s: Scene<O>) => ({
    reward_forward: mul(forwardVelocity(s), s.options.forward_reward_weight),
    reward_ctrl: mul(sumOfSquares(s.action), -s.options.ctrl_cost_weight),
    reward_survive: select(isHealthy(s), s.options.healthy_reward, 0, "f32"),
  }),
  terminated: (s: Scene<O>) => ({ unhealthy: s.options.terminate_when_unhealthy ? not(isHealthy(s)) : false }),
  info: (s: Scene<O>) => ({ ...placeInPlane(s), x_velocity: forwardVelocity(s) }),
  resetInfo: placeInPlane,
  reset: uniformStart,
});

/** A uniform number of [0, 1) stretched to [low, high). */
export const spread = (u: Scalar, low: number, high: number): Scalar => add(low, mul(u, sub(high, low)));

/** For `training`: worlds are in different parts of their episodes from the start on. */
export interface Staggered {
  readonly staggered: boolean;
}

/**
 * Ends each world's first episode at a length of its own, with the option `staggered`: worlds whose episodes all last as
 * long as the time limit would go through them in step, and each rollout would have one part of an episode.
 */
export const staggered =
  (maxEpisodeSteps: number) =>
  (s: Scene<Staggered>): { readonly [name: string]: Bool } => {
    if (!s.options.staggered) return {};
    // multiples of the golden section spread evenly
    const share = mul(toF32(s.world), (Math.sqrt(5) - 1) / 2);
    const most = mul(sub(share, floor(share)), maxEpisodeSteps);
    return { early: and(eq(s.episode, 0), ge(toF32(s.length), most)) };
  };
