// the one waiter for everything the GPU promises
// While a GPU promise is pending, Dawn polls the JavaScript thread without pause and takes a core that a software
// driver needs. This waiter sleeps in slices between the polls. The first moments are polled freely and the slices
// grow with the time waited, so that a short wait stays short.

/** Polled without sleep, in milliseconds: the round trip of a small submission. */
const FREE = 0.15;

/** The first slice, in milliseconds. */
const FIRST_SLICE = 0.05;

/** The longest slice, in milliseconds: the most that other events of the process wait. */
const LONGEST_SLICE = 2;

/** A slice is this share of the time waited so far. */
const SHARE = 0.125;

const cell = new Int32Array(new SharedArrayBuffer(4));
let pending = 0;
let pumping = false;
let waitingSince = 0;

function tick(): void {
  if (pending === 0) {
    pumping = false;
    return;
  }
  const waited = performance.now() - waitingSince;
  if (waited > FREE) {
    const slice = Math.min(LONGEST_SLICE, Math.max(FIRST_SLICE, waited * SHARE));
    Atomics.wait(cell, 0, 0, slice);
  }
  setImmediate(tick);
}

function settled(): void {
  pending--;

  // the next of several waits starts short again
  waitingSince = performance.now();
}

/**
 * Awaits a promise of the GPU (`mapAsync`, `onSubmittedWorkDone`, `popErrorScope`, …) without burning a core.
 * Settles as the promise does. Leaves no timer behind.
 */
export async function waitFor<T>(promise: PromiseLike<T>): Promise<T> {
  if (pending++ === 0) waitingSince = performance.now();
  if (!pumping) {
    pumping = true;
    setImmediate(tick);
  }
  try {
    return await promise;
  } finally {
    settled();
  }
}
