// the device limits that corral asks an adapter for, at the adapter's own maxima
import { CorralError } from "../core/errors.ts";

/** Limits that are raised to the adapter's maximum. Alignments stay at WebGPU's default of 256 bytes, valid everywhere. */
export const RAISED_LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxUniformBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxUniformBuffersPerShaderStage",
  "maxBindGroups",
  "maxBindingsPerBindGroup",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

export type LimitName = (typeof RAISED_LIMITS)[number];

/** Granted limits by WebGPU's names; sizes in bytes. */
export type Limits = Readonly<Record<LimitName, number>>;

/** Reads the limits of an adapter or a device. */
export function readLimits(supported: GPUSupportedLimits): Limits {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of RAISED_LIMITS) limits[name] = supported[name];
  return limits as Limits;
}

/**
 * The limits to request: the adapter's maxima, lowered if `wanted` says so.
 * Throws `limit-unknown` or `limit-too-large` (the adapter cannot grant it).
 */
export function requestedLimits(adapter: Limits, wanted: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(wanted)) {
    const bound = adapter[name as LimitName];
    if (bound === undefined) {
      throw new CorralError("limit-unknown", `no limit is called ${name}. Known: ${RAISED_LIMITS.join(", ")}.`);
    }
    if (!Number.isInteger(value) || value < 1 || value > bound) {
      throw new CorralError(
        "limit-too-large",
        `${name} ${value} is not an integer from 1 to ${bound}, the adapter's limit. Pass at most ${bound}.`,
        { name, value, bound },
      );
    }
  }
  return { ...adapter, ...wanted };
}
