/** The one limit of time: it ends what hangs, and a machine many times slower than any that is known keeps it. */
export const PATIENCE_MS = 600_000;
