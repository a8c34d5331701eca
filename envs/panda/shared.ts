// what the tasks of the Panda-like arm have in common
import { startAround, uniformNoise, type StartScene } from "../../src/env/index.ts";

/** Its hinges, from the base on. */
export const ARM = ["joint1", "joint2", "joint3", "joint4", "joint5", "joint6", "joint7"] as const;

const home = startAround({ key: "home" });

/** Positions at home, the hinges within `noise` (rad) of it. */
export function startNearHome(s: StartScene, noise: number) {
  const { qpos } = home(s);
  return [...uniformNoise(s, qpos!.slice(0, ARM.length), noise), ...qpos!.slice(ARM.length)];
}
