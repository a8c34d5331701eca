// what a thread of a learner on WebAssembly does: kernels in their order, of chunks of invocations
import { ThreadPool, type PoolListener } from "../../core/thread-pool.ts";
import type { LoopSetup, ThreadWork } from "../../core/thread-loop.ts";

export type Run = (
  x: number,
  y: number,
  z: number,
  from: number,
  to: number,
  scratch: number,
  ...rest: number[]
) => void;

/** One run of a kernel: its number, workgroups along each axis, invocations in all, addresses of what it reads and writes. */
export interface Command {
  readonly kernel: number;
  readonly axes: readonly [x: number, y: number, z: number];
  readonly invocations: number;
  readonly addresses: readonly number[];
}

/** Commands of one submission at most, and words of each: addresses are counted. */
export const MOST_COMMANDS = 512;
const COMMAND = { kernel: 0, x: 1, y: 2, z: 3, invocations: 4, chunk: 5, addresses: 6, list: 7, words: 20 } as const;

/** Chunks of a command for each thread, so that they end together. */
const CHUNKS_PER_THREAD = 4;

interface ThreadSetup {
  readonly memory: WebAssembly.Memory;
  /** By the number of the kernel. */
  readonly modules: readonly WebAssembly.Module[];
  /** Memory of its own for what kernels index. */
  readonly scratch: number;
  readonly command: typeof COMMAND;
}

/** Passed on as text: it must not use anything from outside of itself. */
function openLearner(setup: ThreadSetup & LoopSetup, control: Int32Array): ThreadWork {
  const { memory, modules, scratch, command } = setup;
  const runs: Run[] = [];
  let from = 0;
  return {
    begin(at) {
      from = at + 1;
      let chunks = 0;
      return Array.from({ length: control[at] }, (_, turn) => {
        const own = from + turn * command.words;
        return (chunks += Math.ceil(control[own + command.invocations] / control[own + command.chunk]));
      });
    },
    run(turn, place) {
      const own = from + turn * command.words;
      const kernel = control[own + command.kernel];
      runs[kernel] ??= new WebAssembly.Instance(modules[kernel], { corral: { memory } }).exports.run as unknown as Run;
      const chunk = control[own + command.chunk];
      const list = own + command.list;
      runs[kernel](
        control[own + command.x],
        control[own + command.y],
        control[own + command.z],
        place * chunk,
        Math.min(control[own + command.invocations], (place + 1) * chunk),
        scratch,
        ...control.subarray(list, list + control[own + command.addresses]),
      );
    },
  };
}

/** The threads of one learner. */
export class LearnerThreads extends ThreadPool<ThreadSetup> {
  /** How many kernels they know. */
  readonly kernels: number;

  /** Starts a thread for each address of scratch memory. */
  constructor(
    memory: WebAssembly.Memory,
    modules: readonly WebAssembly.Module[],
    scratch: readonly number[],
    listener: PoolListener,
  ) {
    const setups = scratch.map((at): ThreadSetup => ({ memory, modules, scratch: at, command: COMMAND }));
    super(
      { name: "corral.learner", open: openLearner, setups, taskWords: 1 + MOST_COMMANDS * COMMAND.words },
      listener,
    );
    this.kernels = modules.length;
  }

  /** Runs commands, at most MOST_COMMANDS, one after the other. Only if `isFree`, and after those before are done. */
  submit(commands: readonly Command[]): void {
    const words = new Int32Array(1 + commands.length * COMMAND.words);
    words[0] = commands.length;
    commands.forEach(({ kernel, axes, invocations, addresses }, i) => {
      const chunk = Math.max(1, Math.ceil(invocations / (this.count * CHUNKS_PER_THREAD)));
      words.set([kernel, ...axes, invocations, chunk, addresses.length, ...addresses], 1 + i * COMMAND.words);
    });
    this.start(words);
  }
}
