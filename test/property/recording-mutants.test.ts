// mutants of a recording: each is refused with a code, or shows what it holds
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CorralError } from "../../src/core/errors.ts";
import { unpackZip } from "../../src/model/zip.ts";
import { packZip } from "../../src/model/zip-stream.ts";
import { loadModel } from "../../src/model/model.ts";
import { readRecording, recordedModel, recordedPoses } from "../../src/render/recording.ts";
import { recordingBytes } from "../../src/render/recording-bytes.ts";
import { byteChange, change, mutate, mutateBytes, MUTANTS, RAN } from "../support/mutants.ts";

const root = mkdtempSync(join(tmpdir(), "corral-recordings-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const XML = `<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>`;
let good: Uint8Array;
beforeAll(async () => {
  const { source } = await loadModel(XML, { visuals: true });
  const row = (z: number) => ({ time: [z], qpos: [0, 0, z, 1, 0, 0, 0], qvel: Array(6).fill(0), action: [0.5] });
  const about = { corral: "0", id: "Ball", control_dt: 0.02, reward_terms: ["alive"] };
  good = await recordingBytes(about, source, [[row(0), row(1), row(2)], [row(3)]]);
});

/** Reads a file and takes all that is shown of it. */
async function use(bytes: Uint8Array): Promise<void> {
  const path = join(root, "mutant.npz");
  writeFileSync(path, bytes);
  try {
    const recording = readRecording(path);
    const model = await recordedModel(recording, path);
    for (let t = 0; t < Math.min(recording.frames, 10); t++)
      for (const { qpos } of recordedPoses(recording, t, Math.min(recording.episodes, 10)))
        expect(qpos.length).toBe(model.nq);
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    // oxlint-disable-next-line no-control-regex
    expect(error.message).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  }
  expect(RAN in globalThis).toBe(false);
}

test("a recording is what it was made of", async () => {
  const path = join(root, "good.npz");
  writeFileSync(path, good);
  const recording = readRecording(path);
  expect([recording.frames, recording.episodes, recording.lengths]).toEqual([3, 2, [3, 1]]);
  const [, other] = recordedPoses(recording, 2, 2);
  // an episode that has ended stays at its last state
  expect([...(other.qpos as Float64Array)]).toEqual([0, 0, 3, 1, 0, 0, 0]);
  expect((await recordedModel(recording, path)).nq).toBe(7);
  expect(readFileSync(path).subarray(0, 2).toString()).toBe("PK");
  expect(() => readRecording(join(root, "none.npz"))).toThrow("[no-recording]");
});

test("bytes that were changed, of the archive and of its files", async () => {
  const names = fc.constantFrom("", "about.json", "qpos.npy", "time.npy", "lengths.npy", "mjcf/model.xml");
  await fc.assert(
    fc.asyncProperty(names, byteChange, async (name, how) => {
      if (name === "") return use(mutateBytes(good, how));
      const files = unpackZip(good, "good");
      files[name] = mutateBytes(files[name], how);
      return use(await packZip(files));
    }),
    { numRuns: MUTANTS },
  );
});

test("what it says of itself, changed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async (changes) => {
      const files = unpackZip(good, "good");
      const about = JSON.parse(Buffer.from(files["about.json"]).toString()) as object;
      for (const each of changes) mutate({ about }, each);
      files["about.json"] = Buffer.from(JSON.stringify(about) ?? "");
      await use(await packZip(files));
    }),
    { numRuns: MUTANTS },
  );
});
