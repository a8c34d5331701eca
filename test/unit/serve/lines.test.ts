import fc from "fast-check";
import { expect, test } from "vitest";
import { Lines } from "../../../src/serve/lines.ts";

test("lines come out whole, however their bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat(40)), (texts, cuts) => {
      const want = texts.map((text) => text.replaceAll("\n", " "));
      const bytes = Buffer.from(want.map((line) => `${line}\n`).join(""));
      const lines = new Lines();
      const found: string[] = [];
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        lines.add(bytes.subarray(at, at + cut));
        at += cut;
        for (let line = lines.next(); line !== undefined; line = lines.next()) found.push(line);
      }
      expect(found).toEqual(want);
      expect(lines.waiting).toBe(0);
    }),
  );
});
