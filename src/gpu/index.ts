// the GPU layer: adapters, devices, creation in scopes, shaders, waits and readbacks

export { type AdapterChoice, adapterChoice, openAdapter } from "./adapter.ts";
export { compileOnNull } from "./compile-on-null.ts";
export { BufferUsage, MapMode, ShaderStage } from "./constants.ts";
export { type AdapterInfo, type FeatureName, GpuDevice, type GpuDeviceOptions, openDevice } from "./device.ts";
export { GuardedQueue } from "./guarded-queue.ts";
export { type LimitName, type Limits, RAISED_LIMITS } from "./limits.ts";
export { Readback, type ReadRegion, type StagingOptions } from "./readback.ts";
export { type Creation, createBuffer, inScopes } from "./scopes.ts";
export { compileShader, createBindGroup, PipelineCache, type PipelineRequest, type ShaderMessage } from "./shader.ts";
export { Uploader } from "./upload.ts";
export { waitFor } from "./waiter.ts";
export { type MemoryInfo, memoryInfo, ofHost } from "./memory-info.ts";
export { type DeviceLease, shareDevice } from "./shared-device.ts";
export { PassTimer } from "./timestamps.ts";
