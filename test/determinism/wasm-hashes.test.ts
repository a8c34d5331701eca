// the bits of the device "wasm" are those of the repository, on any machine; `npm run generate` writes them
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { hashOf, LONG, SHORT, type Hashes } from "../support/wasm-hashes.ts";
import { SHIPPED } from "../support/shipped.ts";

const full = process.env.CORRAL_FULL !== undefined;
const file = new URL("../support/wasm-hashes.json", import.meta.url);
const pinned = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Hashes>>;

test.each(SHIPPED)("%s", async (id) => {
  expect(await hashOf(id, SHORT), "kernels changed? npm run generate pins their bits").toBe(pinned[id].short);
  if (!full) return;
  for (const threads of [1, 2, 7]) expect(await hashOf(id, LONG, { threads })).toBe(pinned[id].long);
  expect(await hashOf(id, LONG, { device: "cpu" })).toBe(pinned[id].long);
});
