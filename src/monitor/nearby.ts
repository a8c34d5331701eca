// states that float32 cannot tell from a state
import { RandomStream, streams } from "../core/rng.ts";
import { SENSITIVITY_CHANGE } from "./measure.ts";
import { WORLD_STATE, type WorldState } from "./mujoco-world.ts";

/** A state with every number moved up or down by a part of its size, at least of 1. */
export function nearbyState(state: WorldState, seed: number, change = SENSITIVITY_CHANGE): WorldState {
  const random = new RandomStream(seed, 0, 0, streams.user + 2);
  let next = 0;
  const move = (x: number) => x + (random.word(next++) & 1 ? 1 : -1) * change * Math.max(1, Math.abs(x));
  const numbers = WORLD_STATE.filter((name) => name !== "eq_active");
  const moved = Object.fromEntries(numbers.map((name) => [name, state[name].map(move)]));
  return { ...state, ...moved };
}
