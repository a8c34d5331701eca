// the bits of the device "wasm" are those of the repository, on any machine; `npm run generate` writes them
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FLOAT64, hashOf, IN_FLOAT64, inFloat64, LONG, SHORT, type Hashes } from "../support/wasm-hashes.ts";
import { SHIPPED } from "../support/shipped.ts";

const full = process.env.CORRAL_FULL !== undefined;
const file = new URL("../support/wasm-hashes.json", import.meta.url);
const pinned = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Hashes>>;

const float64 = IN_FLOAT64.map((id) => [inFloat64(id), id, FLOAT64] as const);
const shipped = SHIPPED.map((id) => [id, id, {}] as const);

test.each([...shipped, ...float64])("%s", async (name, id, options) => {
  expect(await hashOf(id, SHORT, options), "kernels changed? npm run generate pins their bits").toBe(
    pinned[name].short,
  );
  if (!full) return;
  for (const threads of [1, 2, 7]) expect(await hashOf(id, LONG, { ...options, threads })).toBe(pinned[name].long);
  expect(await hashOf(id, LONG, { ...options, device: "cpu" })).toBe(pinned[name].long);
});
