// bundles that were made to do harm, with every checksum right: refused before anything is built of them
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bisect } from "../../src/crash/bisect.ts";
import { minimise } from "../../src/crash/minimise.ts";
import { replay } from "../../src/crash/replay.ts";
import { writeReproduction } from "../../src/crash/reproduction.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { toJavaScript } from "../../src/trace/javascript.ts";
import { corralInside } from "../support/cli-inside.ts";
import { craft, partsOf, sealManifest, type CraftedParts } from "../support/crafted-bundle.ts";
import { RAN } from "../support/mutants.ts";

const root = mkdtempSync(join(tmpdir(), "corral-crafted-"));
const CODE = `x;globalThis.${RAN}=1;//`;
let good: string;
let made = 0;

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

const crafted = (change: (parts: CraftedParts) => void, options = {}): string =>
  craft(good, join(root, `crafted-${made++}`), change, options);

/** The first statement of a kind in a program, wherever it is. */
// oxlint-disable-next-line typescript/no-explicit-any
function first(body: any[], is: (s: any[]) => boolean): any[] {
  for (const s of body) {
    if (is(s)) return s;
    const inner = s[0] === "when" ? [...s[2], ...s[3]] : s[0] === "loop" ? s[4] : [];
    const found = first(inner, is);
    if (found.length > 0) return found;
  }
  return [];
}
const letOf = ({ program }: CraftedParts, op: string) => first(program.body, (s) => s[0] === "let" && s[2] === op);

const entryOf = (bytes: Uint8Array) => ({
  bytes: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});

describe("names and numbers that would run", () => {
  const plants: readonly [string, (parts: CraftedParts) => void][] = [
    ["an extra buffer", ({ program }) => program.buffers.push([CODE, "read"])],
    ["the name of a buffer", ({ program }) => (program.buffers[0][0] = CODE)],
    [
      "a buffer that is in all its lists",
      ({ program, about }) => {
        program.buffers[0][0] = CODE;
        about.batch.kernel.buffers[0].name = CODE;
        about.batch.arenas[0].name = CODE;
      },
    ],
    ["a parameter", ({ program }) => (program.params[0][0] = CODE)],
    ["a stage", ({ program }) => program.body.unshift(["stage", `x\n${CODE}`, 1])],
    ["an operation", (p) => (letOf(p, "add")[2] = `math_${CODE}`)],
    ["an operation of every object", (p) => (letOf(p, "add")[2] = "constructor")],
    ["a constant", (p) => (letOf(p, "add")[4][1] = CODE)],
    ["the number of a value", (p) => (letOf(p, "add")[1] = CODE)],
    ["a type", (p) => (letOf(p, "add")[3] = CODE)],
    ["a component", (p) => (letOf(p, "component")[4][1] = CODE)],
    ["the type of a table", ({ program }) => program.tables.push([CODE, "t", [1]])],
    ["the length of an array", ({ program }) => (program.arrays[0][2] = CODE)],
    ["a statement", ({ program }) => program.body.push([CODE, 1])],
    ["a loop left where there is none", ({ program }) => program.body.push(["break", true])],
    ["a value that is not there", (p) => (letOf(p, "add")[4][0] = [999_999])],
    ["a value of another type", (p) => (letOf(p, "and")[4][0] = [letOf(p, "load4")[1]])],
  ];
  test.each(plants)("%s", async (_, plant) => {
    const path = crafted(plant);
    expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\]/);
    for (const args of [["--bisect"], ["--device", "cpu"]]) {
      const { code, stderr } = await corralInside(["replay", path, ...args]);
      expect([code, RAN in globalThis]).toEqual([2, false]);
      expect(stderr).toMatch(/^\[bundle-corrupt\] /m);
    }
  });

  test("the name of a stage stays in its line, and code is made of names alone", () => {
    const { trace } = readBundle(crafted(({ program }) => program.body.unshift(["stage", `x\n${CODE}\u2028${CODE}`])));
    const buffers = Object.fromEntries(trace.buffers.map(({ name }) => [name, new Float64Array(64)]));
    const { source } = toJavaScript(trace, "f32", { buffers, params: new Float64Array(64) });
    for (const line of source.split(/\n|\u2028/).filter((l) => l.includes(RAN))) expect(line).toMatch(/^\s*\/\//);
    Object.assign(trace.buffers[0], { name: CODE });
    expect(() => toJavaScript(trace, "f32", { buffers, params: new Float64Array(64) })).toThrow(/^\[bad-trace\]/);
  });
});

describe("nonsense that replayed as identical, or for ever", () => {
  const plants: readonly [string, (parts: CraftedParts) => void][] = [
    ["negative steps", ({ records }) => (records.segments[0].steps = -3)],
    ["a thousand million steps", ({ records }) => (records.segments[0].steps = 1e9)],
    [
      "a thousand million steps, in the manifest too",
      ({ about, records }) => {
        records.segments[0].steps = 1e9;
        about.steps.last = 1e9 + 1;
      },
    ],
    ['worlds: "all"', ({ records }) => (records.worlds = "all")],
    ['worlds: "all", in the manifest', ({ about }) => (about.worlds = "all")],
    ["another world", ({ records }) => (records.worlds = [3])],
    ["nq: 1e9", ({ model }) => (model.nq = 1e9)],
    ["nq: 3", ({ model }) => (model.nq = 3)],
    ["a body that is its own parent", ({ model }) => (model.body_parentid.of = "AAAAAAEAAAABAAAA")],
    ["an integrator that MuJoCo has not", ({ model }) => (model.opt.integrator = 99)],
    ["another model", ({ model }) => (model.name = "other")],
    ["states that are longer", ({ records }) => (records.segments[0].states.state.of += "AAAAAAAAAAAAAAAA")],
    ["an arena of a thousand million numbers", ({ about }) => (about.batch.arenas[2].fields[0].perWorld = 1e9)],
    ["one end of its actions alone", ({ about }) => delete about.env.actionHigh],
    ["an arena of 2^24 numbers", ({ about }) => (about.batch.arenas[2].fields[0].perWorld = 2 ** 24)],
    ["4,294,967,295 steps of physics", ({ records }) => (records.segments[0].params.nstep = 2 ** 31 - 1)],
    ["a status beyond the result", ({ about }) => (about.env.result.status = 99)],
    ["a word that no manifest has", ({ about }) => (about.extra = 1)],
    ["a parameter that no kernel has", ({ about }) => about.batch.params.push({ name: "p", type: "f32", initial: 0 })],
  ];
  test.each(plants)("%s", (_, plant) => {
    expect(() => readBundle(crafted(plant))).toThrow(/^\[bundle-corrupt\]/);
  });

  test("a manifest that is not of its program, and one not of its kernel", () => {
    const other = crafted((p) => (letOf(p, "add")[4] = [1, 2].map(() => letOf(p, "add")[4][0])), { keepsHashes: true });
    expect(() => readBundle(other)).toThrow(/program\.json\.gz is not the program of the manifest/);
    expect(() => readBundle(crafted(({ about }) => (about.shader = "0".repeat(64)), { keepsHashes: true }))).toThrow(
      /^\[bundle-corrupt\]/,
    );
  });

  test("a loop without end is given up", async () => {
    // the loop over the physics steps, and all others with it
    const widen = (body: unknown[][]): void => {
      for (const s of body) {
        if (s[0] === "let" && s[2] === "hide") s[4] = [2 ** 31 - 1];
        for (const inner of s[0] === "when" ? [s[2], s[3]] : s[0] === "loop" ? [s[4]] : []) widen(inner as unknown[][]);
        if (s[0] === "loop") s[3] = [hidden];
      }
    };
    let hidden = 0;
    const path = crafted(({ program }) => {
      hidden = 1 + Math.max(...program.body.filter((s: unknown[]) => s[0] === "let").map((s: number[]) => s[1]), 5000);
      program.body.unshift(["let", hidden, "hide", "i32", [2 ** 31 - 1], 0, 0]);
      widen(program.body);
    });
    const bundle = readBundle(path);
    await expect(replay(bundle, { device: "cpu", seconds: 0.2 })).rejects.toMatchObject({ code: "replay-endless" });
    await expect(replay(bundle, { device: "wasm", seconds: 0.2 })).rejects.toMatchObject({ code: "replay-endless" });
    await expect(bisect(bundle, { device: "cpu", seconds: 0.2 })).rejects.toMatchObject({ code: "replay-endless" });
  });
});

describe("files", () => {
  test.each(["../evil", "/etc/passwd", "mjcf/../../evil", "a\\b", "C:evil", "\u001B[2J", ""])("named %j", (name) => {
    const path = crafted(() => {});
    const { about } = partsOf(path);
    about.files[name] = entryOf(new Uint8Array());
    sealManifest(path, JSON.stringify(about));
    expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\] .*lies outside of it/);
  });

  test("__proto__ is a name like others", () => {
    const path = crafted(() => {});
    const text = readFileSync(join(path, "manifest.json"), "utf8").replace(
      '"env":',
      '"__proto__": {"kind": 1}, "env":',
    );
    expect(() => readBundle(sealManifest(path, text))).toThrow(/^\[bundle-corrupt\] .*__proto__/);
    expect(({} as { kind?: unknown }).kind).toBeUndefined();
  });

  test.each(["program.json.gz", "records.json.gz", "model.json.gz"])("%s that unpacks to a gigabyte", (name) => {
    const path = crafted(() => {});
    const { about } = partsOf(path);
    const bomb = gzipSync(Buffer.alloc(2 ** 28, "["));
    writeFileSync(join(path, name), bomb);
    about.files[name] = entryOf(bomb);
    sealManifest(path, JSON.stringify(about));
    expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\] .*unpacks to more than/);
  });

  test("a pipe and a device in place of a file are not read", () => {
    for (const make of [(at: string) => execFileSync("mkfifo", [at]), (at: string) => symlinkSync("/dev/zero", at)]) {
      const path = crafted(() => {});
      rmSync(join(path, "tables.json"));
      make(join(path, "tables.json"));
      expect(() => readBundle(path)).toThrow(/^\[bundle-corrupt\] .*no regular file/);
    }
  });
});

test("nothing of a bundle commands the terminal", async () => {
  const evil = "\u001B]0;evil\u0007\u001B[2J\u009B31m\u202E";
  const path = crafted(({ about, model }) => {
    about.message = evil;
    about.tripped[0].names.push(evil);
    about.env.trips.push(evil);
    for (const kind of Object.keys(model.names)) model.names[kind] = model.names[kind].map(() => evil);
  });
  for (const args of [["--bisect"], ["--json"], ["--bisect", "--json"], ["--world", "77"]]) {
    const { stdout, stderr } = await corralInside(["replay", path, ...args]);
    // oxlint-disable-next-line no-control-regex
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

test("a reproduction holds code of ours alone, whatever the files of the model are called", async () => {
  const path = crafted(({ about }) => {
    about.message = `x\nglobalThis.${RAN}=1;//\u2028globalThis.${RAN}=1;`;
  });
  const names = ["reproduction.mts", "node_modules/corral/index.js", "package.json"];
  const { about } = partsOf(path);
  mkdirSync(join(path, "mjcf/node_modules/corral"), { recursive: true });
  for (const name of names) {
    const bytes = Buffer.from(`globalThis.${RAN} = 1;`);
    writeFileSync(join(path, "mjcf", name), bytes);
    about.files[`mjcf/${name}`] = entryOf(bytes);
  }
  sealManifest(path, JSON.stringify(about));
  const bundle = readBundle(path);
  const where = { device: "cpu" } as const;
  const folder = join(root, "reproduction");
  writeReproduction(folder, bundle, await minimise(await crashScene(bundle, where), await bisect(bundle, where)));
  const lines = readFileSync(join(folder, "reproduction.mts"), "utf8").split(/\n|\u2028/);
  for (const line of lines.filter((l) => l.includes(RAN))) expect(line).toMatch(/^\/\//);
  expect(["node_modules", "package.json"].filter((name) => existsSync(join(folder, name)))).toEqual([]);
});
