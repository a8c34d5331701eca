// mutants of a bundle, sealed as good ones: each is refused with a code or does what it says, and none does more
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CorralError } from "../../src/core/errors.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { minimise } from "../../src/crash/minimise.ts";
import { replay } from "../../src/crash/replay.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { partsOf, seal, sealManifest } from "../support/crafted-bundle.ts";
import { byteChange, change, mutate, mutateBytes, MUTANTS, RAN } from "../support/mutants.ts";

const root = mkdtempSync(join(tmpdir(), "corral-mutants-"));
let good: string;

beforeAll(async () => {
  const recorder = { directory: join(root, "good") };
  await using env = await makeVec("CartPole", { numEnvs: 4, device: "cpu", recorder });
  await env.reset();
  for (let t = 0; t < 4; t++) {
    if (t === 2) await env.setState({ qvel: [1e9, -1e9] }, [2]);
    await env.step(new Int32Array(4));
  }
  [good] = env.health().bundles;
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Seconds that a mutant may take before it is given up with a code. */
const SECONDS = 5;

/** Reads and runs a mutant in every way. */
async function use(path: string): Promise<void> {
  const around = readdirSync(root).sort();
  try {
    const bundle = readBundle(path);
    const where = { device: "cpu", seconds: SECONDS } as const;
    await replay(bundle, where);
    const found = await bisect(bundle, where);
    const scene = await crashScene(bundle, where);
    await secondOpinion(scene, found);
    if (MUTANTS > 100) await minimise(scene, found);
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    // oxlint-disable-next-line no-control-regex
    expect(error.message).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  }
  expect(RAN in globalThis).toBe(false);
  expect(readdirSync(root).sort()).toEqual(around);
}

test("parts that were changed", async () => {
  const parts = fc.constantFrom("about", "about", "program", "program", "records", "model", "tables");
  const changes = fc.array(fc.tuple(parts, change), { minLength: 1, maxLength: 2 });
  const path = join(root, "changed");
  await fc.assert(
    fc.asyncProperty(changes, fc.boolean(), async (made, keepsHashes) => {
      const all = partsOf(good);
      for (const [part, how] of made) mutate({ [part]: all[part] }, how);
      seal(good, path, all, { keepsHashes });
      await use(path);
    }),
    { numRuns: MUTANTS },
  );
});

test("bytes that were changed, with checksums that are right", async () => {
  const files = fc.constantFrom("records.json.gz", "program.json.gz", "model.json.gz", "tables.json", "mjcf/model.xml");
  const path = join(root, "bytes");
  await fc.assert(
    fc.asyncProperty(files, byteChange, fc.boolean(), async (file, how, twice) => {
      const parts = partsOf(good);
      seal(good, path, parts);
      const was = mutateBytes(readFileSync(join(path, file)), how);
      const bytes = twice ? gzipSync(was) : was;
      writeFileSync(join(path, file), bytes);
      parts.about.files[file] = { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
      sealManifest(path, JSON.stringify(parts.about));
      await use(path);
    }),
    { numRuns: MUTANTS },
  );
});

test("a manifest that was changed as text", async () => {
  const path = join(root, "text");
  await fc.assert(
    fc.asyncProperty(byteChange, async (how) => {
      seal(good, path, partsOf(good));
      const text = Buffer.from(mutateBytes(readFileSync(join(path, "manifest.json")), how)).toString("latin1");
      sealManifest(path, text);
      await use(path);
    }),
    { numRuns: MUTANTS },
  );
});
