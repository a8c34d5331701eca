// random numbers of a reset, in the kernel: the traced twin of RandomStream
import { CorralError } from "../../core/errors.ts";
import { array, loop } from "../../trace/control.ts";
import { normalPair, philox4x32, uniform01, type Key } from "../../trace/philox.ts";
import { add, isNode, shl, toU32, uadd, type Int, type Scalar } from "../../trace/scalar.ts";

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

  /** `count` random words (u32). */
  words(count: number): Int[] {
    const first = this.#blocks;
    const blocks = Math.ceil(count / 4);
    this.#blocks += blocks;
    if (this.#blocks > STEP_BLOCKS && isNode(this.#step)) {
      throw new CorralError(
        "bad-task",
        `a control step draws ${4 * this.#blocks} random words for one purpose; it has ${4 * STEP_BLOCKS}. Draw fewer.`,
      );
    }
    const words = array("random", 4 * blocks, "u32");
    // a loop, since ten rounds are many operations and resets are rare
    loop(blocks, (i) => {
      const block = uadd(shl(toU32(this.#step), STEP_BITS), toU32(add(i, first)));
      const four = philox4x32([this.#world, this.#episode, this.#stream, block], this.#key);
      four.forEach((word, k) => words.set(add(i4(i), k), word));
    });
    return Array.from({ length: count }, (_, i) => words.get(i));
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
