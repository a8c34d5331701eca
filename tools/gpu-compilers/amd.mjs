// Compiles WGSL through Dawn on the null device of Mesa's RADV, and prints a line of JSON for the device and for each entry
// point: what AMD's compiler says of it. `node amd.mjs FILE.wgsl ...`, in the environment that measure.ts makes; SPIR-V goes beside the files.
import { existsSync, readFileSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { create, globals } from "webgpu";

Object.assign(globalThis, globals);
// an instance that is collected ends the process
const gpu = (globalThis.kept = create(["enable-dawn-features=allow_unsafe_apis"]));
const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
if (!adapter) throw new Error("Dawn accepts no null device");
const names = ["maxStorageBuffersPerShaderStage", "maxStorageBufferBindingSize", "maxBufferSize"];
const device = await adapter.requestDevice({
  requiredLimits: Object.fromEntries(names.map((name) => [name, adapter.limits[name]])),
  requiredFeatures: ["subgroups", "shader-f16"].filter((feature) => adapter.features.has(feature)),
});

console.log(JSON.stringify({ device: adapter.info.description }));
const { NULL_DRIVER_LOG: log, NULL_DRIVER_SPIRV: folder } = process.env;
for (const file of process.argv.slice(2)) {
  const code = readFileSync(file, "utf8");
  const entries = [...code.matchAll(/@compute[^{]*?fn\s+(\w+)/g)].map(([, entry]) => entry);
  const module = device.createShaderModule({ code });
  for (const entryPoint of entries) {
    const name = basename(file, ".wgsl") + (entries.length > 1 ? `.${entryPoint}` : "");
    await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
    const stats = JSON.parse(readFileSync(log, "utf8").trim().split("\n").at(-1));
    const spirv = join(folder, `${String(stats.pipeline).padStart(4, "0")}.spv`);
    if (existsSync(spirv)) renameSync(spirv, join(folder, `${name}.spv`));
    console.log(JSON.stringify({ name, ...stats }));
  }
}
process.exit(0);
