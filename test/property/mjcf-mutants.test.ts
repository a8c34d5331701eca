// mutants of models: each is refused with a code, or compiles
import fc from "fast-check";
import { expect, test } from "vitest";
import { CorralError } from "../../src/core/errors.ts";
import { loadModel } from "../../src/model/model.ts";
import { byteChange, mutateBytes, MUTANTS, NASTY } from "../support/mutants.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/imports.ts";

const XML = ["joint_many_on_body", "tendons_spatial", "equality", "sensors"].map((name) =>
  readFileSync(join(ROOT, "test/models", `${name}.xml`), "utf8"),
);
const WORDS = [
  ...NASTY.filter((value) => ["string", "number"].includes(typeof value)).map(String),
  "nan",
  "-inf",
  "1 2 3",
];

async function load(xml: string): Promise<void> {
  try {
    const model = await loadModel(xml);
    expect(model.nq).toBeGreaterThanOrEqual(0);
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    // oxlint-disable-next-line no-control-regex
    expect(error.message).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  }
}

test("attributes, elements and bytes", async () => {
  const attribute = fc.record({ at: fc.nat(), word: fc.constantFrom(...WORDS) });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...XML), fc.oneof(attribute, byteChange), async (xml, how) => {
      if ("word" in how) {
        const places = [...xml.matchAll(/="([^"]*)"/g)];
        const { index, 0: text } = places[how.at % places.length];
        return load(`${xml.slice(0, index)}="${how.word.replace(/["<&]/g, "")}"${xml.slice(index + text.length)}`);
      }
      return load(new TextDecoder().decode(mutateBytes(new TextEncoder().encode(xml), how)));
    }),
    { numRuns: MUTANTS },
  );
});

test.each([
  ["a count", `<replicate count="1000000000"><geom size=".1"/></replicate>`],
  [
    "counts within each other",
    `<replicate count="999"><replicate count='999'><replicate count="999"><geom size=".1"/></replicate></replicate></replicate>`,
  ],
  ["a composite", `<body><composite type="grid" count="9999 9999 1" spacing=".1"><geom size=".1"/></composite></body>`],
])("%s of a thousand million copies is refused before MuJoCo makes them", async (_, body) => {
  await expect(loadModel(`<mujoco><worldbody>${body}</worldbody></mujoco>`)).rejects.toMatchObject({
    code: "too-many-copies",
  });
});

test("a few copies are made", async () => {
  const xml = `<mujoco><!-- <replicate count="999999999"> --><worldbody><replicate count="3" offset="1 0 0">
    <replicate count="2" offset="0 1 0"><geom size=".1"/></replicate></replicate></worldbody></mujoco>`;
  expect((await loadModel(xml)).ngeom).toBe(6);
});
