// why kernels that are over the bounds of docs/gpu.md are so
import type { Row } from "./measure.ts";

export function reasonFor(_row: Row): string | undefined {
  return undefined;
}
