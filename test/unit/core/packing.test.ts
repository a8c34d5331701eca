// what a page makes of bytes is what Node makes
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as page from "../../../src/core/packing.browser.ts";
import { gzip, sha256 } from "../../../src/core/packing.ts";

test("digests of a page are Node's, in parts and at every edge of a block", () => {
  for (let length = 0; length <= 130; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => 7 * i + length);
    expect(page.sha256(bytes)).toBe(sha256(bytes));
  }
  const parts = fc.array(fc.oneof(fc.string(), fc.uint8Array({ maxLength: 200 })), { maxLength: 4 });
  fc.assert(
    fc.property(parts, (given) => {
      expect(page.sha256(...given)).toBe(sha256(...given));
    }),
  );
});

test("what either packs, Node unpacks", async () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * i) >> 7);
  for (const pack of [page.gzip, gzip]) expect(gunzipSync(await pack(bytes)).equals(bytes)).toBe(true);
});
