// how many threads a software driver computes in

/** Mesa's variable: threads of a device, 0 for none but the one that takes its submissions. */
const VARIABLE = "LP_NUM_THREADS";

/**
 * Has Mesa's software driver compute in the thread that takes submissions, for short dispatches: to hand one over to other
 * threads takes it 20 to 60 µs. Bits are the same. Other drivers do not look at it, and if the variable is set that
 * stands. Counts for devices that are opened after it, in the whole process.
 */
export function computeWithoutThreads(): void {
  process.env[VARIABLE] ??= "0";
}
