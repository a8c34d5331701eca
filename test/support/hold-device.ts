// keeps the process's device open from the first test of a file to its last: what it has compiled is compiled once
import { afterAll, beforeAll } from "vitest";
import { shareDevice, type DeviceLease } from "../../src/gpu/index.ts";

/** Call it at the top of a file whose tests make the same kernels again and again. */
export function holdDevice(): void {
  let lease: DeviceLease | undefined;
  beforeAll(async () => {
    // where there is no adapter the tests say so themselves
    lease = await shareDevice().catch(() => undefined);
  });
  afterAll(() => lease?.release());
}
