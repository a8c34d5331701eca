// random numbers of a reset, in the kernel: the traced twin of RandomStream
import { CorralError } from "../../core/errors.ts";
import { array, breakIf, loop, type LocalArray } from "../../trace/control.ts";
import { normalPair, philox4x32, uniform01, type Key } from "../../trace/philox.ts";
import { add, isNode, mul, shl, toU32, uadd, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";

/** Blocks of a control step: with 2^24 steps of an episode they fill the counter. */
const STEP_BITS = 8;
const STEP_BLOCKS = 2 ** STEP_BITS;

/**
 * Draws of one (seed, world id, episode, stream). Each call takes whole blocks of four words, in the order of the calls:
 * what `RandomStream` of `core/rng.ts` gives at words 4 * block and on.
 */
export class Draws {
  readonly #key: Key;
  readonly #world: Int;
  readonly #episode: Int;
  readonly #stream: number;
  readonly #step: Int;
  #blocks = 0;

  /** `step`: numbers of another control step are others. */
  constructor(key: Key, world: Int, episode: Int, stream: number, step: Int = 0) {
    this.#key = key;
    this.#world = world;
    this.#episode = episode;
    this.#stream = stream;
    this.#step = step;
  }

  /** The number of the first of the next blocks, which are taken. */
  #take(blocks: number): number {
    const first = this.#blocks;
    this.#blocks += blocks;
    if (this.#blocks > STEP_BLOCKS && isNode(this.#step)) {
      throw new CorralError(
        "bad-task",
        `a control step draws ${4 * this.#blocks} random words for one purpose; it has ${4 * STEP_BLOCKS}. Draw fewer.`,
      );
    }
    return first;
  }

  /** An array of `blocks` blocks, and what fills it with those from `first` on. */
  #storage(blocks: number): { words: LocalArray; fill: (first: Int) => void } {
    const words = array("random", 4 * blocks, "u32");
    // a loop, since ten rounds are many operations and resets are rare
    const fill = (first: Int) =>
      loop(blocks, (i) => {
        const block = uadd(shl(toU32(this.#step), STEP_BITS), toU32(add(i, first)));
        const four = philox4x32([this.#world, this.#episode, this.#stream, block], this.#key);
        four.forEach((word, k) => words.set(add(i4(i), k), word));
      });
    return { words, fill };
  }

  /** `count` random words (u32). */
  words(count: number): Int[] {
    const blocks = Math.ceil(count / 4);
    const { words, fill } = this.#storage(blocks);
    fill(this.#take(blocks));
    return Array.from({ length: count }, (_, i) => words.get(i));
  }

  /** `count` uniform numbers that `accept` takes: the first such of `tries` draws, in a loop of the kernel, or the last. */
  accepted(tries: number, count: number, accept: (uniforms: readonly Scalar[]) => Bool): Scalar[] {
    const blocks = Math.ceil(count / 4);
    const first = this.#take(tries * blocks);
    const { words, fill } = this.#storage(blocks);
    const uniforms = () => Array.from({ length: count }, (_, i) => uniform01(words.get(i)));
    loop(tries, (i) => {
      fill(add(first, mul(i, blocks)));
      breakIf(accept(uniforms()));
    });
    return uniforms();
  }

  /** `count` numbers, uniform in [0, 1). */
  uniforms(count: number): Scalar[] {
    return this.words(count).map(uniform01);
  }

  /** `count` numbers, standard normal; two from two words. */
  normals(count: number): Scalar[] {
    const words = this.words(2 * Math.ceil(count / 2));
    const pairs = words.flatMap((word, i) => (i % 2 ? [] : normalPair(word, words[i + 1])));
    return pairs.slice(0, count);
  }
}

const i4 = (i: Int): Int => add(add(i, i), add(i, i));
