// how many invocations a workgroup has, by what an adapter says of its subgroups
import type { AdapterInfo } from "./device.ts";

/** What is asked of a device. */
export type AdapterFacts = Pick<AdapterInfo, "kind" | "subgroupMaxSize"> & Partial<Pick<AdapterInfo, "driver">>;

/** Workgroups of software drivers, of WebAssembly, and of GPUs with subgroups of 32 lanes or fewer. */
export const WORKGROUP = 32;

/** A workgroup smaller than a subgroup leaves lanes empty: 64 on GPUs whose subgroups are as large. */
export const workgroupOf = ({ kind, subgroupMaxSize }: AdapterFacts): number =>
  kind === "gpu" && subgroupMaxSize >= 2 * WORKGROUP ? 2 * WORKGROUP : WORKGROUP;
