// a reset that the host requests: which worlds, and which seeds
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import { seedKey, type PhiloxKey } from "../../core/rng.ts";
import type { ParamValues } from "./task-params.ts";

export type Seed = number | bigint;

type Seeds = Seed | readonly (Seed | null)[] | Uint32Array | BigUint64Array;

export interface ResetOptions {
  /**
   * Seed of all worlds to be reset, or one for each world of the batch, null for none. A world's numbers depend on its
   * seed and its id: worlds of one seed differ. Without one a world goes on with its next episode, at first of the seed
   * given to `makeVec`.
   */
  readonly seed?: Seeds;
  readonly options?: {
    /** The worlds to reset, one entry a world: booleans, or bytes 0 and 1. Default: all. */
    readonly mask?: readonly boolean[] | Uint8Array;
    /** New parameters of the task for these worlds; see `setParams`. */
    readonly params?: ParamValues;
    /** Gymnasium's name of `mask`. */
    readonly reset_mask?: readonly boolean[] | Uint8Array;
  };
}

/** Which worlds to reset, and the key of each that is given a seed. */
export interface ResetRequest {
  readonly params: ParamValues;
  readonly mask: Uint8Array | undefined;
  readonly keyOf: (world: number) => PhiloxKey | undefined;
}

/**
 * Checks what `reset` was given.
 * @throws CorralError bad-seed, bad-reset-mask, unknown-option
 */
export function checkReset(given: ResetOptions, numEnvs: number): ResetRequest {
  const isObject = (x: unknown) => typeof x === "object" && x !== null && !Array.isArray(x);
  const [name, value] = isObject(given) ? ["options", given.options ?? {}] : ["what reset takes", given];
  if (!isObject(value)) {
    const text = `${name} is ${show(value)}; reset takes { seed, options: { mask, params } }.`;
    throw new CorralError("bad-option", text, { value });
  }
  const { seed, options, ...rest } = given;
  // none, as Gymnasium's default is
  const { mask, reset_mask = mask, params = {}, ...others } = options ?? {};
  const unknown = [...Object.keys(rest), ...Object.keys(others)][0];
  if (unknown !== undefined) {
    throw new CorralError(
      "unknown-option",
      `reset has no option "${unknown}". It takes { seed, options: { mask, params } }.`,
      {
        name: unknown,
      },
    );
  }
  return {
    params,
    mask: reset_mask === undefined ? undefined : partOf(checkMask(reset_mask, numEnvs)),
    keyOf: seed === undefined ? () => undefined : checkSeed(seed, numEnvs),
  };
}

/** A mask of all worlds counts as no mask. */
const partOf = (mask: Uint8Array): Uint8Array | undefined => (mask.includes(0) ? mask : undefined);

function checkMask(mask: unknown, numEnvs: number): Uint8Array {
  const refuse = (text: string) =>
    new CorralError("bad-reset-mask", `${text}. Pass ${numEnvs} booleans, at least one of them true.`, { numEnvs });
  const isBytes = mask instanceof Uint8Array;
  if (!isBytes && !Array.isArray(mask)) throw refuse(`the reset mask is ${show(mask)}`);
  if (mask.length !== numEnvs) throw refuse(`the reset mask has ${mask.length} entries; there are ${numEnvs} worlds`);
  const bad = (mask as unknown[]).findIndex((x) => (isBytes ? x !== 0 && x !== 1 : typeof x !== "boolean"));
  if (bad >= 0) throw refuse(`entry ${bad} of the reset mask is ${show(mask[bad])}`);
  const bytes = Uint8Array.from(mask as ArrayLike<number | boolean>, Number);
  if (!bytes.includes(1)) throw refuse("the reset mask marks no world");
  return bytes;
}

function checkSeed(seed: Seeds, numEnvs: number): ResetRequest["keyOf"] {
  const isList = (x: Seeds): x is Exclude<Seeds, Seed> =>
    Array.isArray(x) || (ArrayBuffer.isView(x) && !((x as unknown) instanceof DataView));
  if (!isList(seed)) {
    const key = seedKey(seed);
    return () => key;
  }
  if (seed.length !== numEnvs) {
    throw new CorralError(
      "bad-seed",
      `seed has ${seed.length} entries; there are ${numEnvs} worlds. Pass one seed, or ${numEnvs}.`,
      { numEnvs },
    );
  }
  const keys = Array.from<Seed | null, PhiloxKey | undefined>(seed, (one) => (one === null ? undefined : seedKey(one)));
  return (world) => keys[world];
}

export const maskedFirst = (id: string): CorralError =>
  new CorralError(
    "needs-reset",
    `${id} was not reset yet, so its first reset is of all worlds. Call reset() without a mask.`,
  );
