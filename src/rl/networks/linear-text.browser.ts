// kernels of a dense layer by name, in a file of the bundle that is loaded when they are needed
import type { LINEAR, LinearKernel } from "./linear-wgsl.ts";
import type { Sharing } from "./linear-groups.ts";

let kernels: typeof LINEAR | undefined;

export async function loadLinear(): Promise<void> {
  kernels ??= (await import("./linear-wgsl.ts")).LINEAR;
}

export function linearText(name: LinearKernel, sharing: Sharing): string {
  if (!kernels) throw new Error("kernels of dense layers are not loaded");
  return kernels[name](sharing);
}
