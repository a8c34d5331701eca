// kernels of a dense layer by name
import { LINEAR, type LinearKernel } from "./linear-wgsl.ts";
import type { Sharing } from "./linear-groups.ts";

export const loadLinear = async (): Promise<void> => {};

export const linearText = (name: LinearKernel, sharing: Sharing): string => LINEAR[name](sharing);
