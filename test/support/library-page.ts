// what a page of the tests does with the library, called by name
import * as corral from "../../src/browser.ts";
import { learned } from "./learned.ts";
import { wordsOf } from "./wasm-words.ts";

/** The first half of the SHA-256 of words, in hex. */
async function sha256(parts: readonly Uint32Array[]): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    await new Blob(parts as Uint32Array<ArrayBuffer>[]).arrayBuffer(),
  );
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, 32);
}

async function hashOf(id: string, steps: number, options: object): Promise<string> {
  const parts: Uint32Array[] = [];
  for await (const words of wordsOf(corral.makeVec, id, steps, options)) parts.push(words);
  return sha256(parts);
}

/** The code of what a call throws; what it returns, in words, if it throws nothing. */
async function codeOf(call: () => unknown): Promise<string> {
  try {
    return `returned ${String(await call())}`;
  } catch (error) {
    return error instanceof corral.CorralError ? error.code : String(error);
  }
}

Object.assign(globalThis, { corral, hashOf, sha256, codeOf, learned: () => learned(corral) });
document.body.dataset.ready = "";
