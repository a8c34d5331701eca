// what each kind of buffer may be used for
import { BufferUsage } from "../gpu/constants.ts";
import type { Access } from "./request.ts";

const { COPY_DST, COPY_SRC, MAP_READ, MAP_WRITE, STORAGE, UNIFORM } = BufferUsage;

// the host fills and inspects storage, so it is copied both ways
const USAGE: Readonly<Record<Access, number>> = {
  read: STORAGE | COPY_SRC | COPY_DST,
  read_write: STORAGE | COPY_SRC | COPY_DST,
  uniform: UNIFORM | COPY_DST,
  slots: UNIFORM | COPY_DST,
  staging: MAP_READ | COPY_DST,
  upload: MAP_WRITE | COPY_SRC,
};

/** WebGPU's usage flags for a way of access. */
export function usageOf(access: Access): number {
  return USAGE[access];
}
