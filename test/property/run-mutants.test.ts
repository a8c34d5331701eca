// mutants of what a run leaves: checkpoints, configs, replay files. Each is refused with a code or does what it says.
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { CorralError } from "../../src/core/errors.ts";
import { decodeSafetensors, encodeSafetensors } from "../../src/io/safetensors.ts";
import { FileRows } from "../../src/rl/replay/file-rows.ts";
import { decodeCheckpoint } from "../../src/runs/checkpoint.ts";
import { listCheckpoints } from "../../src/runs/checkpoints.ts";
import { shareDevice } from "../../src/gpu/shared-device.ts";
import { reexecuteUpdate } from "../../src/rl/ppo/reexecute.ts";
import { readUpdateBundle } from "../../src/runs/update-bundle.ts";
import { BUNDLES } from "../../src/runs/folder.ts";
import { CONFIG_FILE, readConfig } from "../../src/runs/run-config.ts";
import { trainOptions } from "../../src/runs/options.ts";
import { play } from "../../src/runs/play.ts";
import { policyOfRun } from "../../src/runs/policy.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { sealManifest } from "../support/crafted-bundle.ts";
import { byteChange, change, mutate, mutateBytes, MUTANTS, RAN } from "../support/mutants.ts";
import { TINY, trainInto } from "../support/runs.ts";

const root = mkdtempSync(join(tmpdir(), "corral-run-mutants-"));
const good = join(root, "good");
const changed = join(root, "changed");
let run: TrainingRun;

beforeAll(async () => {
  await trainInto(good, "CartPole", { ...TINY, steps: 128, evalEvery: 100, checkpointEvery: 1 });
  cpSync(good, changed, { recursive: true });
  for (const path of listCheckpoints(changed).slice(1)) rmSync(path);
  run = await TrainingRun.create("CartPole", TINY);
});
afterAll(async () => {
  await run.close();
  rmSync(root, { recursive: true, force: true });
});

/** Only codes are thrown, no code of a file runs, and nothing appears beside it. */
async function only(use: () => unknown): Promise<void> {
  const around = readdirSync(root).sort();
  try {
    await use();
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
  }
  expect(RAN in globalThis || RAN in {}).toBe(false);
  expect(readdirSync(root).sort()).toEqual(around);
}

const NO_HASH = "0".repeat(64);

/** A checkpoint with another text in its metadata, and the right checksum. */
function sealed(
  metadata: Record<string, string>,
  tensors: ReturnType<typeof decodeSafetensors>["tensors"],
): Uint8Array {
  const bytes = encodeSafetensors(Object.fromEntries(tensors), { ...metadata, sha256: NO_HASH });
  const hash = createHash("sha256").update(bytes).digest("hex");
  const at = Buffer.from(bytes.buffer).indexOf(NO_HASH);
  if (at >= 0) bytes.set(Buffer.from(hash), at);
  return bytes;
}

/** Checkpoints of which so many are also played and gone on from, which takes a device. */
const USED = Math.ceil(MUTANTS / 4);

test("checkpoints whose metadata were changed, with the right checksum", async () => {
  const [path] = listCheckpoints(changed);
  const { metadata, tensors } = decodeSafetensors(readFileSync(path), path);
  const texts = fc.constantFrom("about", "state", "state");
  let used = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(texts, change), { minLength: 1, maxLength: 2 }), async (changes) => {
      const now = { ...metadata };
      for (const [text, how] of changes) {
        // a change before may have removed it
        if (now[text] === "") continue;
        const all = { [text]: JSON.parse(now[text]) as unknown };
        mutate(all, how);
        now[text] = JSON.stringify(all[text]) ?? "";
      }
      const bytes = sealed(now, tensors);
      await only(() => decodeCheckpoint(bytes, path));
      if (used++ >= USED) return;
      writeFileSync(path, bytes);
      await only(async () => run.resume(decodeCheckpoint(bytes, path).state));
      await only(() => policyOfRun(changed));
    }),
    { numRuns: MUTANTS },
  );
  writeFileSync(path, readFileSync(listCheckpoints(good)[0]));
});

test("checkpoints whose arrays were changed", async () => {
  const [path] = listCheckpoints(changed);
  const { metadata, tensors } = decodeSafetensors(readFileSync(path), path);
  const names = [...tensors.keys()];
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(3), fc.constantFrom("cut", "none", "nan", "type"), async (at, by, how) => {
      const now = new Map(tensors);
      const name = names[at % names.length];
      const { data } = now.get(name)!;
      const array = { cut: data.slice(by + 1), nan: data.slice().fill(Number.NaN), type: new Uint8Array(4 * by + 3) };
      if (how === "none") now.delete(name);
      else now.set(name, { shape: [array[how].length], data: array[how] });
      const bytes = sealed(metadata, now);
      await only(async () => run.resume(decodeCheckpoint(bytes, path).state));
    }),
    { numRuns: USED },
  );
});

test("bytes of safetensors", async () => {
  const [path] = listCheckpoints(good);
  const bytes = readFileSync(path);
  await fc.assert(
    fc.asyncProperty(byteChange, async (how) => {
      // most of a file is numbers: half of the changes are in the header
      const near = how.at % 2 === 0 ? { ...how, at: how.at % 2000 } : how;
      await only(() => decodeSafetensors(mutateBytes(bytes, near), path));
      await only(() => decodeCheckpoint(mutateBytes(bytes, near), path));
    }),
    { numRuns: MUTANTS },
  );
});

test("a header of lists 100,000 deep is refused", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const text = Buffer.from(`{"a":{"dtype":${deep},"shape":[1],"data_offsets":[0,4]}}`);
  const bytes = Buffer.concat([Buffer.alloc(8), text, Buffer.alloc(4)]);
  bytes.writeBigUInt64LE(BigInt(text.length));
  expect(() => decodeSafetensors(bytes, "a file")).toThrow(/^\[bad-safetensors\] a file .* a is of type \[\[/);
});

test("headers of safetensors", async () => {
  const header = { a: { dtype: "F32", shape: [2], data_offsets: [0, 8] }, __metadata__: { x: "y" } };
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const now = structuredClone(header);
      for (const how of changes) mutate({ now }, how);
      const text = Buffer.from(JSON.stringify(now));
      const bytes = new Uint8Array(8 + text.length + 8);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
      bytes.set(text, 8);
      await only(() => decodeSafetensors(bytes, "a file"));
    }),
    { numRuns: MUTANTS },
  );
});

test("configs, whole and as bytes", async () => {
  const path = join(changed, CONFIG_FILE);
  const text = readFileSync(join(good, CONFIG_FILE), "utf8");
  const either = fc.oneof(fc.array(change, { minLength: 1, maxLength: 2 }), byteChange);
  await fc.assert(
    fc.asyncProperty(either, async (how) => {
      if (Array.isArray(how)) {
        const all = { config: JSON.parse(text) as unknown };
        for (const one of how) mutate(all, one);
        writeFileSync(path, JSON.stringify(all.config) ?? "");
      } else writeFileSync(path, mutateBytes(Buffer.from(text), how));
      await only(() => trainOptions(readConfig(path)));
      await only(() => play(changed, { episodes: 1 }).then(() => {}));
    }),
    { numRuns: USED },
  );
  writeFileSync(path, text);
});

test("files of a replay", async () => {
  const path = join(root, "replay.bin");
  const shape = { id: "x", worlds: 2, capacity: 8, observations: 3, actions: 1 };
  const rows = FileRows.open(path, shape);
  for (let i = 0; i < 3; i++) {
    for (let world = 0; world < 2; world++) rows.write(world, new Float32Array(rows.width).fill(i));
    rows.advance(1);
  }
  rows.close();
  const bytes = readFileSync(path);
  await fc.assert(
    fc.asyncProperty(byteChange, async (how) => {
      const near = how.at % 2 === 0 ? { ...how, at: how.at % 200 } : how;
      writeFileSync(path, mutateBytes(bytes, near));
      await only(() => {
        const opened = FileRows.open(path, shape, { reuse: true });
        try {
          const into = new Float32Array(opened.width);
          for (let n = opened.oldest; n < opened.written; n++) opened.read(1, n, into);
        } finally {
          opened.close();
        }
      });
    }),
    { numRuns: MUTANTS },
  );
  rmSync(path);
});

test("bundles of updates", async () => {
  const folder = join(root, "updates");
  const options = {
    ...TINY,
    steps: 128,
    config: { ...TINY.config, learningRate: 1e30, schedule: "constant" },
  } as const;
  await trainInto(folder, "CartPole", options).catch(() => {});
  const bundles = join(folder, BUNDLES);
  const [name] = readdirSync(bundles);
  const from = join(bundles, name);
  expect(readUpdateBundle(from).evidence.minibatches).toBeGreaterThan(0);
  const text = readFileSync(join(from, "manifest.json"), "utf8");
  const to = join(bundles, "mutant");
  cpSync(from, to, { recursive: true });
  const lease = await shareDevice();
  let used = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async (changes) => {
        const all = { about: JSON.parse(text) as unknown };
        for (const how of changes) mutate(all, how);
        sealManifest(to, JSON.stringify(all.about) ?? "");
        await only(async () => {
          const { evidence } = readUpdateBundle(to);
          if (used++ < USED && !("half" in evidence)) await reexecuteUpdate(lease.gpu, evidence);
        });
      }),
      { numRuns: MUTANTS },
    );
  } finally {
    lease.release();
  }
});
