// what an environment keeps per world beside the physics
import { group, row } from "./row.ts";

export const TASK_FIELDS = group("task", [
  row("status", "u32", [1], "", "bits: what went wrong in this world"),
  row("action", "f32", ["naction"], "", "action of the control step"),
  row("obs", "f32", ["nobs"], "", "observation"),
  row("reward", "f32", [1], "", "reward of the control step"),
  row("reward_term", "f32", ["nterm"], "", "named terms of the reward"),
  row("terminated", "u32", [1], "", "did the task end the episode"),
  row("truncated", "u32", [1], "", "did the step limit end the episode"),
  row("final_obs", "f32", ["nobs"], "", "last observation of the episode that ended"),
  row("episode", "u32", [1], "", "number of the episode, keys the random numbers"),
  row("episode_length", "u32", [1], "", "control steps in this episode"),
  row("episode_return", "f32", [1], "", "sum of rewards in this episode"),
]);
