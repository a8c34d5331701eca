// how kernels are written for an adapter: chosen from what the device says of itself, never by measuring
import { CorralError } from "../../core/errors.ts";
import { checked, kindOf } from "../../core/options.ts";
import { oneLine } from "../../core/show.ts";
import { formatBytesExactly } from "../../core/units.ts";
import { WORKGROUP, workgroupOf, type AdapterFacts } from "../../gpu/workgroup.ts";
import { costOf } from "../../trace/cost.ts";
import type { PrivateRoom } from "../../trace/away.ts";
import type { Trace } from "../../trace/graph.ts";
import type { WgslForm, WgslKernel } from "../../trace/wgsl.ts";
import { PLACEMENT_OPTIONS, type PlacementOptions } from "../options.ts";

/** Whose limits of straight-line code count: those of drivers that compile for CPUs or for GPUs, or no driver's. */
export type Target = "software" | "gpu" | "none";

/** How the kernels of a batch are written. */
export interface Emission extends WgslForm {
  readonly target: Target;
  /** Whether the kernel of a step runs in pieces, or only if a lane has no registers for all of it, or if it compiles long. */
  readonly cut: boolean | "auto" | "long";
  /** Whether no driver compiles them, so that private memory is a CPU's. */
  readonly roomy?: boolean;
  /** The most bytes of values, variables and private arrays that the driver compiles. Default: no bound is known. */
  readonly mostPrivate?: number;
}

/** The most bytes of one private array: the compiler of WGSL in Dawn, and in browsers that have it, refuses more. */
const MOST_ARRAY = 1 << 16;

/**
 * SwiftShader ends the process, or runs over its stack, where four lanes take more than 512 KiB: arrays, variables, and the
 * values of a large kernel that have no register. Arrays alone compile up to 126,976 bytes a lane (docs/decisions/0077).
 */
const MOST_ON_SWIFTSHADER = 120 << 10;
/** Bytes of a lane there for each operation of a kernel, as values need slots (docs/decisions/0120, 0145). */
const SLOTS_AN_OPERATION = 2;
/** Bytes of a lane there for each access in the text to an array that lies in an arena. */
export const SLOTS_AN_ACCESS = 8;
/** Bytes of a lane there for whatever a kernel does, its variables, and arrays that numbers alone index. */
const SLOTS = 12 << 10;

/** Statements there beyond which a value that lives longer lies in memory (docs/decisions/0163). */
const LONG_LIVED = 400;

/** What helps where a kernel is too large for its driver. */
const REMEDY =
  'Step it as WebAssembly, which has no such bound (device: "wasm", --device wasm), or put fewer bodies into one world and more worlds into the batch.';

/** Values that live at once in a whole kernel for GPUs, by the order of its text: compilers need 0.8 to 0.9 registers for each. */
const VALUES = 270;

/**
 * NVIDIA's driver holds private memory for every lane that the GPU can have at once, and refuses a kernel for which that is
 * too much: an H100 took 10,352 bytes a lane, and 14,592 not (docs/decisions/0108).
 */
const ROOM_ON_GPUS = 8 << 10;

/** Drivers that compute on the CPU, and WebAssembly. Small arrays apart cost them least; they gather from uniforms. */
const SOFTWARE: Emission = {
  target: "software",
  workgroupSize: WORKGROUP,
  privateArrays: "separate",
  tablesApart: "uniform",
  cut: false,
};

/** How kernels are written for a device that says so of itself; without one, as for a software driver. */
function emissionOf(adapter: AdapterFacts | undefined): Emission {
  if (adapter?.kind !== "gpu")
    return /SwiftShader/i.test(adapter?.driver ?? "")
      ? { ...SOFTWARE, mostPrivate: MOST_ON_SWIFTSHADER, longLived: LONG_LIVED, cut: "long" }
      : SOFTWARE;
  const workgroupSize = workgroupOf(adapter);
  return {
    target: "gpu",
    workgroupSize,
    privateArrays: "merged",
    tablesApart: "storage",
    mostLive: VALUES,
    privateRoom: ROOM_ON_GPUS,
    cut: "auto",
  };
}

const GROUP_LIMITS = ["maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"] as const;
type GroupLimits = Readonly<Record<(typeof GROUP_LIMITS)[number], number>>;

/**
 * How the kernels of a batch are written on a device, and what the options say instead.
 * @throws CorralError bad-option; limit-exceeded for a workgroup that the device cannot run
 */
export function emissionFor(
  adapter: AdapterFacts | undefined,
  options: PlacementOptions = {},
  limits?: GroupLimits,
): Emission {
  const byDefault = emissionOf(adapter);
  const chosen = <K extends "workgroupSize" | "privateArrays" | "mostLive" | "cut">(name: K): Emission[K] => {
    const given = options[name];
    if (given === undefined) return byDefault[name];
    return checked(name, kindOf(PLACEMENT_OPTIONS[name]), given) as Emission[K];
  };
  const mostLive = chosen("mostLive");
  const emission = {
    ...byDefault,
    workgroupSize: chosen("workgroupSize"),
    privateArrays: chosen("privateArrays"),
    ...(mostLive === undefined ? {} : { mostLive }),
    cut: chosen("cut"),
  };
  if (limits) assertRuns(emission.workgroupSize, limits);
  return emission;
}

function assertRuns(size: number, limits: GroupLimits): void {
  for (const limit of GROUP_LIMITS) {
    const bound = limits[limit];
    if (size <= bound) continue;
    throw new CorralError(
      "limit-exceeded",
      `workgroupSize is ${size}; ${limit} of this device is ${bound}. Pass workgroupSize: ${bound} or less.`,
      { workgroupSize: size, limit, bound },
    );
  }
}

/**
 * What room for private arrays a lane has in a kernel, beside what the driver makes of its values; any where it is undefined.
 * @throws CorralError kernel-too-large, where values alone have no room
 */
export function privateRoomOf(title: string, trace: Trace, emission: Emission): PrivateRoom | undefined {
  const { mostPrivate, privateRoom, roomy } = emission;
  if (roomy || mostPrivate === undefined) return privateRoom === undefined ? undefined : { bytes: privateRoom };
  const { arithmetic } = costOf(trace);
  const room = mostPrivate - SLOTS_AN_OPERATION * arithmetic - SLOTS;
  if (room > 0) return { bytes: room, perAccess: SLOTS_AN_ACCESS };
  const most = Math.floor((mostPrivate - SLOTS) / SLOTS_AN_OPERATION);
  throw new CorralError(
    "kernel-too-large",
    `kernel ${oneLine(title)} has ${arithmetic} operations, of which SwiftShader compiles ${most} in one kernel. ${REMEDY} Loops take fewer operations (unroll: false).`,
    { operations: arithmetic, bound: most },
  );
}

/**
 * Refuses a kernel whose private arrays have no room, wherever they lie.
 * @throws CorralError kernel-too-large
 */
export function assertRoom(title: string, { bytes, perAccess }: PrivateRoom, lacking: number): void {
  if (perAccess === undefined || lacking === 0) return;
  const [needed, bound] = [Math.ceil(bytes + lacking), Math.floor(bytes)];
  throw new CorralError(
    "kernel-too-large",
    `kernel ${oneLine(title)} needs ${formatBytesExactly(needed)} of a world for private arrays, of which SwiftShader has ${formatBytesExactly(bound)} beside its values. ${REMEDY}`,
    { bytes: needed, bound },
  );
}

/**
 * Refuses a kernel before a driver sees it.
 * @throws CorralError kernel-too-large
 */
export function assertCompiles(title: string, { privateBytes }: WgslKernel, { roomy, mostPrivate }: Emission): void {
  if (roomy || privateBytes === undefined) return;
  const { all, most, largest } = privateBytes;
  const refuse = (what: string, bytes: number, bound: number) =>
    new CorralError("kernel-too-large", `kernel ${oneLine(title)} keeps ${what}. ${REMEDY}`, { bytes, bound });
  if (most > MOST_ARRAY)
    throw refuse(
      `${formatBytesExactly(most)} of a world in the private array ${largest}, which WebGPU devices compile up to ${formatBytesExactly(MOST_ARRAY)}`,
      most,
      MOST_ARRAY,
    );
  if (mostPrivate !== undefined && all > mostPrivate)
    throw refuse(
      `${formatBytesExactly(all)} of a world in private memory, of which SwiftShader compiles ${formatBytesExactly(mostPrivate)}`,
      all,
      mostPrivate,
    );
}
