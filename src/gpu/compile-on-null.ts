// compiles WGSL on Dawn's null backend: front end, validation and uniformity analysis, with no driver
import { type GpuDevice, openDevice } from "./device.ts";
import { compileShader, PipelineCache } from "./shader.ts";

let opening: Promise<GpuDevice> | undefined;

/**
 * Compiles `code` with no driver, and each of `entryPoints` as a compute pipeline, against WebGPU's default limits.
 * About 1 ms a module. Throws `ShaderError`.
 */
export async function compileOnNull(
  code: string,
  label = "shader",
  entryPoints: readonly string[] = [],
): Promise<void> {
  opening ??= openDevice({ adapter: "null", label: "null" });
  const gpu = await opening;
  if (entryPoints.length === 0) {
    await compileShader(gpu, label, code);
    return;
  }
  const cache = new PipelineCache(gpu);
  for (const entryPoint of entryPoints) await cache.compute({ label, code, entryPoint });
}
