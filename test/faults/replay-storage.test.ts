// replays in memory and in files: the bits of the one on the device; space taken at the start; damage and full disks told
import {
  lstatSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { BudgetExceededError } from "../../src/memory/index.ts";
import { hostBudget } from "../../src/memory/host-budget.ts";
import { fileBytes, FileRows } from "../../src/rl/replay/file-rows.ts";
import { HostRows, planHostRows, type RowsShape } from "../../src/rl/replay/host-rows.ts";
import { Sac, type SacOptions } from "../../src/rl/index.ts";

const SHAPE: RowsShape = { id: "test", worlds: 3, capacity: 7, observations: 2, actions: 1 };
const WIDTH = 5;
/** Open files, but for the memory that SwiftShader's compiler keeps for its code from the first kernel on. */
const openFiles = () => readdirSync("/proc/self/fd").filter((file) => !isDriversMemory(`/proc/self/fd/${file}`)).length;
const isDriversMemory = (link: string) =>
  lstatSync(link, { throwIfNoEntry: false }) && readlinkSync(link).startsWith("/memfd:swiftshader");

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "corral-replay-"))));
afterAll(() => rmSync(folder, { recursive: true }));

/** Rows that say which they are. */
const rowsOf = (world: number, number: number, count: number) =>
  Float32Array.from(
    { length: count * WIDTH },
    (_, i) => 1000 * world + number + Math.floor(i / WIDTH) + (i % WIDTH) / 8,
  );

function fill(rows: FileRows | HostRows, steps: number, by = 1): void {
  for (let t = 0; t < steps; t += by) {
    for (let world = 0; world < SHAPE.worlds; world++) rows.write(world, rowsOf(world, rows.written, by));
    rows.advance(by);
  }
}

function expectRows(rows: FileRows | HostRows, oldest: number, written: number): void {
  expect([rows.oldest, rows.written]).toEqual([oldest, written]);
  for (let world = 0; world < SHAPE.worlds; world++) {
    const into = new Float32Array((written - oldest) * WIDTH);
    rows.read(world, oldest, into);
    expect(into).toEqual(rowsOf(world, oldest, written - oldest));
  }
}

describe("a file", () => {
  let path: string;
  let count = 0;
  const fresh = () => (path = join(folder, `rows-${count++}`));
  const reopen = () => FileRows.open(path, SHAPE, { reuse: true });

  test("takes all its bytes at the start, and goes round", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    expect([statSync(path).size, rows.bytes]).toEqual([fileBytes(SHAPE), fileBytes(SHAPE)]);
    expect(fileBytes(SHAPE)).toBe(4096 + 3 * 7 * (8 + 4 * WIDTH));
    fill(rows, 18, 3);
    expectRows(rows, 11, 18);
    rows.close();
    const again = reopen();
    expectRows(again, 11, 18);
    fill(again, 2);
    expectRows(again, 13, 20);
    again.close();
    expect(statSync(path).size).toBe(fileBytes(SHAPE));
  });

  test("that cannot be made is told", () => {
    const open = openFiles();
    const none = () => FileRows.open(join(folder, "none/rows"), SHAPE);
    expect(none).toThrow(/^\[replay-not-written\] .*none\/rows cannot be written \(ENOENT\)\. Pass another replayFile/);
    expect(() => FileRows.open(folder, SHAPE, { reuse: true })).toThrow(/^\[replay-not-written\] .*\(EISDIR\)/);
    expect(openFiles()).toBe(open);
  });

  test("that is there is not taken unasked; another shape, damage and a cut are told", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 10);
    rows.close();
    const before = openFiles();
    const codeOf = (open: () => unknown) => {
      try {
        open();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return undefined;
    };
    expect(codeOf(() => FileRows.open(path, SHAPE))).toBe("replay-exists");
    expect(codeOf(() => FileRows.open(path, { ...SHAPE, capacity: 8 }, { reuse: true }))).toBe("bad-replay");
    const good = readFileSync(path);
    // a bit of a row in the middle, then one of the header
    for (const [at, code] of [
      [4096 + 28 * 8 + 13, "bad-replay"],
      [20, "bad-replay"],
    ] as const) {
      const bytes = Buffer.from(good);
      bytes[at] ^= 4;
      writeFileSync(path, bytes);
      expect(codeOf(reopen)).toBe(code);
    }
    writeFileSync(path, good);
    truncateSync(path, good.length - 1);
    expect(codeOf(reopen)).toBe("bad-replay");
    writeFileSync(path, "something else");
    expect(codeOf(reopen)).toBe("bad-replay");
    expect(openFiles()).toBe(before);
  });

  test("a row that changes under a run is not learnt from", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 3);
    const file = openSync(path, "r+");
    writeSync(file, Uint8Array.of(255), 0, 1, 4096 + 10);
    closeSync(file);
    expect(() => rows.read(0, 0, new Float32Array(WIDTH))).toThrowError("[bad-replay]");
    rows.read(1, 0, new Float32Array(WIDTH));
    rows.close();
  });

  test.each([0, 1, 2])("a write that was cut short, of world %i, leaves what was written before", (world) => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 10);
    // killed in the middle of step 10: some worlds have it, one has half of it
    for (let w = 0; w < world; w++) rows.write(w, rowsOf(w, 10, 1));
    rows.close();
    const file = openSync(path, "r+");
    writeSync(file, new Uint8Array(14).fill(7), 0, 14, 4096 + (world * 7 + (10 % 7)) * 28);
    closeSync(file);
    const again = reopen();
    expectRows(again, 4, 10);
    fill(again, 4);
    expectRows(again, 7, 14);
    again.close();
  });

  test("a disk that runs full stops cleanly, and what was written is intact", () => {
    let room = Infinity;
    const writeAt = (file: number, bytes: Uint8Array, position: number) => {
      writeSync(file, bytes, 0, Math.min(bytes.length, room), position);
      room -= bytes.length;
      if (room < 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    };
    const rows = FileRows.open(fresh(), SHAPE, { writeAt });
    room = 28 * 13 + 9;
    expect(() => fill(rows, 10)).toThrowError("[disk-full]");
    rows.close();
    const again = reopen();
    expectRows(again, 0, 4);
    again.close();

    // and at the start nothing is left
    const before = openFiles();
    room = 1000;
    expect(() => FileRows.open(fresh(), SHAPE, { writeAt })).toThrowError("[disk-full]");
    expect(() => statSync(path)).toThrowError("ENOENT");
    expect(() => FileRows.open(path, { ...SHAPE, capacity: 2 ** 40 })).toThrowError("are free");
    expect(() => statSync(path)).toThrowError("ENOENT");
    expect(openFiles()).toBe(before);
  });

  test("goes back to a snapshot, and forgets what came after, also for who opens it later", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 9);
    const saved = rows.copy();
    fill(rows, 3);
    rows.put(saved);
    expectRows(rows, 5, 9);
    rows.close();
    const again = reopen();
    expectRows(again, 5, 9);
    fill(again, 5);
    expectRows(again, 7, 14);
    // of another file
    expect(() => again.put({ replay_written: Uint32Array.of(15) })).toThrowError("[bad-snapshot]");
    again.close();
  });

  test("a snapshot says how many of its rows are gone", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 9);
    const saved = rows.copy();
    expect(rows.put(saved)).toBeUndefined();
    fill(rows, 3);
    expect(rows.put(saved)).toMatch(/^3 of the 7 transitions of each world .* are gone: rows written later/);
    // if nothing was overwritten, nothing is
    rows.close();
    const few = FileRows.open(fresh(), SHAPE);
    fill(few, 4);
    const early = few.copy();
    fill(few, 3);
    expect(few.put(early)).toBeUndefined();
    expectRows(few, 0, 4);
    few.close();
  });

  test.each([5, 7, 30])("killed %i rows after a snapshot, it goes on with what was written last", (more) => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 9);
    const saved = rows.copy();
    fill(rows, more);
    rows.close();
    const again = reopen();
    expect(again.put(saved)).toMatch(
      /of the 7 transitions of each world .* gone; it goes on with the 7 that were written last/,
    );
    expect([again.oldest, again.written]).toEqual([2 + more, 9 + more]);
    // nothing leads from the last row to the one that comes next
    const flagsOf = (number: number) => {
      const row = new Float32Array(WIDTH);
      again.read(1, number, row);
      return row[WIDTH - 1];
    };
    expect(flagsOf(8 + more)).toBe(4);
    // these rows have flags already, which stay
    expect(flagsOf(7 + more)).toBe(rowsOf(1, 7 + more, 1)[WIDTH - 1]);
    fill(again, 1);
    expect(again.written).toBe(10 + more);
    again.close();
  });

  test("a power cut after a snapshot: whatever of the rows since is on the disk, all of the snapshot's are", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 3 }),
        fc.infiniteStream(fc.nat(29)),
        (before, after, draws) => {
          let [synced, unsynced] = [Buffer.alloc(0), [] as { bytes: Uint8Array; position: number }[]];
          const writeAt = (file: number, bytes: Uint8Array, position: number) => {
            writeSync(file, bytes, 0, bytes.length, position);
            unsynced.push({ bytes: bytes.slice(), position });
          };
          const sync = () => {
            synced = readFileSync(path);
            unsynced = [];
          };
          const rows = FileRows.open(fresh(), SHAPE, { writeAt, sync });
          fill(rows, before);
          const saved = rows.copy();
          fill(rows, after);
          rows.close();
          // of each write since, a part
          for (const { bytes, position } of unsynced) {
            const kept = draws.next().value;
            if (kept % 3 > 0) Buffer.from(bytes).copy(synced, position, 0, kept % 3 === 1 ? bytes.length : kept);
          }
          writeFileSync(path, synced);

          const again = FileRows.open(path, SHAPE, { reuse: true, defer: true });
          const gone = again.put(saved);
          const had = Math.min(before, SHAPE.capacity);
          expect(gone === undefined).toBe(again.written - again.oldest === had && again.written === before);
          if (again.written === before) expectRows(again, again.oldest, before);
          expect(again.written - again.oldest).toBeGreaterThanOrEqual(Math.floor(had / 2));
          again.close();
          rmSync(path);
        },
      ),
    );
  });

  test("damage of what a snapshot needs is told when it is put back, and without one before anything is done", () => {
    const rows = FileRows.open(fresh(), SHAPE);
    fill(rows, 6);
    const saved = rows.copy();
    rows.close();
    const bytes = readFileSync(path);
    bytes[4096 + 28 * 4 + 13] ^= 4;
    writeFileSync(path, bytes);
    const again = FileRows.open(path, SHAPE, { reuse: true, defer: true });
    expect(() => again.put(saved)).toThrowError("[bad-replay]");
    expect(() => again.write(0, rowsOf(0, 6, 1))).toThrowError("[bad-replay]");
    again.close();
  });
});

describe("memory", () => {
  test("is in the budget of the host, to the byte, and given back", async () => {
    const { live, limit, source } = hostBudget().report();
    const plan = planHostRows(SHAPE);
    expect(plan.totalBytes).toBe(Math.ceil((4 * 3 * 7 * WIDTH) / 16) * 16);
    const rows = await HostRows.create(SHAPE);
    expect([rows.bytes, hostBudget().live - live]).toEqual([plan.totalBytes, plan.totalBytes]);
    fill(rows, 18, 3);
    expectRows(rows, 11, 18);
    const saved = rows.copy();
    fill(rows, 2);
    rows.put(saved);
    expectRows(rows, 11, 18);
    rows.close();
    expect(hostBudget().live).toBe(live);
    hostBudget().change({ limit: live + 1000 });
    await expect(HostRows.create({ ...SHAPE, capacity: 1000 })).rejects.toThrowError(BudgetExceededError);
    await expect(HostRows.create({ ...SHAPE, capacity: 1000 })).rejects.toThrowError('storage: "file"');
    hostBudget().change({ limit, source });
  });
});

describe("SAC", () => {
  const OPTIONS = {
    seed: 2,
    hidden: [12],
    batchSize: 16,
    bufferSize: 200,
    learningStarts: 60,
    collectSteps: 2,
    gradientSteps: 2,
  };
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice();
  });
  afterAll(() => gpu.close());

  async function run<T>(options: SacOptions, use: (sac: Sac, env: VectorEnv) => Promise<T>): Promise<T> {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 10, seed: 2, device: gpu });
    await using sac = await Sac.create(env, { ...OPTIONS, ...options });
    return await use(sac, env);
  }
  const trained = async (sac: Sac, updates: number) => {
    for (let i = 0; i < updates; i++) await sac.iterate();
    return sac.parameters();
  };

  test("learns the same bits wherever its replay lies, and goes on from a snapshot", async () => {
    const before = openFiles();
    const live = hostBudget().live;
    const wanted = await run({}, (sac) => trained(sac, 24));
    const replayFile = join(folder, "sac");
    for (const options of [{ storage: "host" }, { storage: "file", replayFile }] satisfies SacOptions[]) {
      const saved = await run(options, async (sac) => {
        await trained(sac, 15);
        const snapshot = await sac.snapshot();
        expect(await trained(sac, 9)).toEqual(wanted);
        return snapshot;
      });
      // rows that were written after the snapshot have taken the oldest: a file cannot go back that far to the bit
      if (options.storage === "file") continue;
      await run(options, async (sac) => {
        await sac.restore(saved);
        expect(await trained(sac, 9)).toEqual(wanted);
      });
    }
    const part = await run({ storage: "file", replayFile: join(folder, "part") }, async (sac) => {
      await trained(sac, 15);
      return sac.snapshot();
    });
    await run({ storage: "file", replayFile: join(folder, "part"), reuseReplay: true }, async (sac) => {
      await sac.restore(part);
      expect(await trained(sac, 9)).toEqual(wanted);
    });
    expect([openFiles(), hostBudget().live]).toEqual([before, live]);
  });

  test("refuses a file before it holds anything", async () => {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 10, seed: 2, device: gpu });
    const before = openFiles();
    const missing = Sac.create(env, { ...OPTIONS, storage: "file" });
    await expect(missing).rejects.toMatchObject({ code: "bad-option" });
    const there = Sac.create(env, { ...OPTIONS, storage: "file", replayFile: join(folder, "sac") });
    await expect(there).rejects.toMatchObject({ code: "replay-exists" });
    expect(openFiles()).toBe(before);
  });
});
