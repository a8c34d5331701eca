// what the device "wasm" makes of environments: a hash for any machine, version of Node and count of threads
import { createHash } from "node:crypto";
import { makeVec } from "../../src/env/make.ts";
import { wordsOf } from "./wasm-words.ts";

/** Control steps of the hashes of an environment. */
export const [SHORT, LONG] = [15, 1000];

/** Of an environment after SHORT and after LONG control steps. */
export interface Hashes {
  readonly short: string;
  readonly long: string;
}

/** Environments whose bits are pinned in float64 too: contacts, and draws from normal distributions. */
export const IN_FLOAT64 = ["Hopper-v5", "Go1Velocity"];
export const FLOAT64 = { arithmetic: "float64" } as const;

/** The name of what an environment comes to in float64. */
export const inFloat64 = (id: string): string => `${id} in float64`;

/** A hash of them. */
export async function hashOf(id: string, steps: number, options: object = {}): Promise<string> {
  const hash = createHash("sha256");
  for await (const words of wordsOf(makeVec, id, steps, options)) hash.update(words);
  return hash.digest("hex").slice(0, 32);
}
