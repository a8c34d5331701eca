// bundles on bad disks, in bad folders, cut off and altered: told in words, and the run goes on
// alone in its process, since node:fs is replaced: @vitest-environment-options {"alone":"bundles"}
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { packZip } from "../../src/model/zip-stream.ts";
import { unpackZip } from "../../src/model/zip.ts";
import { readSealed, writeSealed } from "../../src/record/sealed.ts";
import { builtProgram } from "../support/built.ts";
import { corralInside } from "../support/cli-inside.ts";
import { sealManifest } from "../support/crafted-bundle.ts";
import { disk } from "../support/disk.ts";
import { ROOT } from "../support/imports.ts";
import { codeOf } from "../support/lives.ts";

vi.mock("node:fs", async (original) => (await import("../support/disk.ts")).limitedDisk(original));

const root = mkdtempSync(join(tmpdir(), "corral-bundles-"));
let good: string;

/** Hopper on the CPU, whose world 2 breaks in step 3. */
async function crash(recorder: object): Promise<VectorEnv> {
  const env = await makeVec("Hopper-v5", { numEnvs: 4, device: "cpu", recorder });
  await env.reset();
  for (let t = 0; t < 6; t++) {
    if (t === 2) await env.setState({ qvel: [1e9, -3e9, 3e9, 0, 0, 0] }, [2]);
    await env.step(new Float32Array(12));
  }
  return env;
}

const copyOf = (name: string): string => {
  const path = join(root, name);
  cpSync(good, path, { recursive: true });
  return path;
};

beforeAll(async () => {
  await using env = await crash({ directory: join(root, "good") });
  [good] = env.health().bundles;
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a full disk: nothing is left, and the run goes on and says what was not written", async () => {
  const directory = join(root, "full");
  disk.room = 10_000;
  try {
    await using env = await crash({ directory });
    expect(env.steps).toBe(6);
    const { bundles, notWritten, failures } = env.health();
    expect([bundles, failures > 0]).toEqual([[], true]);
    expect(notWritten).toMatchObject([
      { code: "bundle-not-written", reason: expect.stringContaining("ENOSPC"), count: 1 },
    ]);
    expect(readdirSync(directory)).toEqual([]);
  } finally {
    disk.room = Infinity;
  }
});

interface RealCrash {
  readonly steps: number;
  readonly bundles: string[];
  readonly notWritten: object[];
  readonly left: string[];
}

/** Runs a crash in a shell that has bounded what may be written to "$2" before. */
async function crashAfter(bound: string, shell = ["sh"]): Promise<RealCrash> {
  const program = await builtProgram(fileURLToPath(new URL("../support/crash-into.ts", import.meta.url)));
  const script = `${bound}; exec "$0" "$1" "$2"`;
  const [command, ...args] = [...shell, "-c", script, process.execPath, program, mkdtempSync(join(root, "real-"))];
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as RealCrash;
}

const SMALL_DISK = "mount -t tmpfs -o size=64k tmpfs";
const ownDisks = (): boolean =>
  spawnSync("unshare", ["-rm", "sh", "-c", `${SMALL_DISK} "$0"`, mkdtempSync(join(root, "probe-"))]).status === 0;

test.each([
  ["a process that may write 8 KiB to a file", "EFBIG", "ulimit -f 8", ["sh"], (): boolean => true],
  ["a disk of 64 KiB", "ENOSPC", `${SMALL_DISK} "$2"`, ["unshare", "-rm", "sh"], ownDisks],
] as const)("%s: %s, and the run goes on", async (name, code, bound, shell, can) => {
  if (!can()) return console.log(`skipped: ${name} needs a mount name space`);
  const { steps, bundles, left, notWritten } = await crashAfter(bound, [...shell]);
  expect([steps, bundles, left]).toEqual([6, [], []]);
  expect(notWritten).toMatchObject([{ code: "bundle-not-written", reason: expect.stringContaining(code), count: 1 }]);
});

test("a folder that cannot be written, and a bundle over its bound", async () => {
  writeFileSync(join(root, "file"), "");
  await using env = await crash({ directory: join(root, "file", "below") });
  expect(env.health().notWritten).toMatchObject([{ code: "bundle-not-written" }]);
  await using small = await crash({ directory: join(root, "small"), maxBytes: "4KiB" });
  expect(small.health().notWritten).toMatchObject([
    { code: "bundle-too-large", reason: expect.stringContaining("4.00 KiB") },
  ]);
});

test("a bundle that is saved as a zip is the one of the folder, and is replayed from it", async () => {
  const saved: [name: string, zip: Uint8Array][] = [];
  await using env = await crash({ save: (name: string, zip: Uint8Array) => void saved.push([name, zip]) });
  const [[name, zip]] = saved;
  expect([saved.length, env.health().bundles]).toEqual([1, [name]]);
  const path = join(root, name);
  writeFileSync(path, zip);
  const [own, folder] = [readBundle(path), readBundle(good)];
  expect(own.recording).toEqual(folder.recording);
  expect([own.about.program, own.about.shader]).toEqual([folder.about.program, folder.about.shader]);
  const { code, stdout, stderr } = await corralInside(["replay", path]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("identical");

  // a folder that somebody has packed, for an issue
  const packed = join(root, "packed.zip");
  const files = Object.entries(unpackZip(zip, name)).map(([file, bytes]) => [`folder/${file}`, bytes] as const);
  writeFileSync(packed, await packZip(Object.fromEntries(files)));
  expect(readBundle(packed).recording).toEqual(folder.recording);
  // bytes that were altered, and a zip of something else
  writeFileSync(
    packed,
    await packZip(Object.fromEntries(files.map(([f, b]) => [f, f.endsWith("gz") ? b.slice(1) : b]))),
  );
  expect(() => readBundle(packed)).toThrow(/^\[bundle-corrupt\]/);
  writeFileSync(packed, zip.subarray(0, 1000));
  expect(() => readBundle(packed)).toThrow(/^\[no-bundle\] .* it is a zip that was cut short, or none/);
  const refuses = () => Promise.reject(new Error("no room"));
  await using refused = await crash({ save: refuses });
  expect(refused.health().notWritten).toMatchObject([
    { code: "bundle-not-written", reason: expect.stringContaining("no room") },
  ]);
});

test("as many as were allowed", async () => {
  const directory = join(root, "many");
  await using env = await makeVec("Hopper-v5", { numEnvs: 4, device: "cpu", recorder: { directory, maxBundles: 4 } });
  await env.reset();
  for (let t = 0; t < 5; t++) {
    await env.setState({ qvel: [1e9, -3e9, 3e9, 0, 0, 0] }, [t % 4]);
    await env.step(new Float32Array(12));
  }
  const { bundles, notWritten } = env.health();
  expect([bundles.length, readdirSync(directory).length]).toEqual([1, 1]);
  expect(notWritten).toMatchObject([{ code: "bundle-limit" }]);
});

test.each([
  ["altered", (path: string) => alter(join(path, "records.json.gz"))],
  ["altered in its manifest", (path: string) => alter(join(path, "manifest.json"))],
  ["cut off", (path: string) => truncateSync(join(path, "program.json.gz"), 1000)],
  ["cut off in its manifest", (path: string) => truncateSync(join(path, "manifest.json"), 100)],
  ["without a file", (path: string) => unlinkSync(join(path, "model.json.gz"))],
  ["without its seal", (path: string) => unlinkSync(join(path, "manifest.sha256"))],
])("a bundle that was %s is refused with its file", async (name, harm) => {
  const path = copyOf(name);
  harm(path);
  expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\].* Copy the bundle again from where it was written\.$/);
  const { code, stderr } = await corralInside(["replay", path]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^\[bundle-corrupt\] .*$/m);
});

function alter(file: string): void {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(file, bytes);
}

test("a bundle of a newer format says what to install; what is none says so", async () => {
  const path = copyOf("newer");
  const file = join(path, "manifest.json");
  const text = readFileSync(file, "utf8")
    .replace('"version": 2', '"version": 3')
    .replace(/"corral": "[^"]*"/, '"corral": "9.9.9"');
  writeFileSync(file, text);
  writeFileSync(join(path, "manifest.sha256"), createHash("sha256").update(text).digest("hex"));
  expect(() => readBundle(path)).toThrow(
    /^\[bundle-newer\] .* has format 3, this corral reads 2 and older\. .*9\.9\.9/,
  );
  for (const none of [join(root, "nowhere"), join(root, "file"), root])
    expect(() => readBundle(none)).toThrow(/^\[no-bundle\]/);
  const { code } = await corralInside(["replay", join(root, "nowhere")]);
  expect(code).toBe(2);
});

test.each(["null", "7", '"text"', "[]", "[null]", "true"])("a manifest that is %s is none", (text) => {
  expect(() => readBundle(sealManifest(copyOf("none"), text))).toThrow(/^\[no-bundle\]/);
});

test("a bundle that names files outside of itself is refused, though its checksums are right", () => {
  for (const name of ["../evil", "mjcf/../../evil", "/evil", "mjcf\\..\\..\\evil"]) {
    const path = copyOf(`outside-${name.replace(/\W/g, "_")}`);
    const file = join(path, "manifest.json");
    const text = readFileSync(file, "utf8").replace(/"tables\.json"/, JSON.stringify(name));
    writeFileSync(file, text);
    writeFileSync(join(path, "manifest.sha256"), createHash("sha256").update(text).digest("hex"));
    expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\] .* lies outside of it/);
  }
});

test("a writer that is killed leaves whole folders, and one that the next writer takes away", async () => {
  const directory = mkdtempSync(join(root, "killed-"));
  const script = new URL("../support/write-forever.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [await builtProgram(script), directory], { stdio: "ignore", cwd: ROOT });
  const partial = () => readdirSync(directory).some((name) => name.startsWith(".partial"));
  while (!(partial() && readdirSync(directory).length > 2)) await new Promise((resolve) => setTimeout(resolve, 5));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.kill("SIGKILL");
  await ended;

  const whole = readdirSync(directory).filter((name) => !name.startsWith("."));
  for (const name of whole) expect(readSealed(join(directory, name)).files.size).toBe(3);
  writeSealed(directory, "after", {}, new Map([["a", Uint8Array.of(1)]]), 2 ** 20);
  expect(partial()).toBe(false);
});

test("options of the recorder that cannot be", async () => {
  const code = (recorder: unknown) =>
    makeVec("CartPole", { numEnvs: 4, device: "cpu", recorder: recorder as true }).then(() => "made", codeOf);
  for (const bad of [
    { everySteps: 0 },
    { keep: 1.5 },
    { worlds: [] },
    { worlds: [4] },
    7,
    { directory: 3 },
    { save: "x.zip" },
  ])
    expect(await code(bad)).toBe("bad-option");
  expect(await code({ wolrds: "all" })).toBe("unknown-option");
});
