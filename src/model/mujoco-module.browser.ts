// MuJoCo's WebAssembly build, fetched when a model is compiled
import type { MainModule } from "@mujoco/mujoco";

export async function load(options?: unknown): Promise<MainModule> {
  const { default: start } = await import("@mujoco/mujoco");
  return start(options);
}
