// the library in a real browser: compiled there, stepped there, with the bits that Node has
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildBrowser, mujocoWasm } from "../../tools/browser-bundle.mjs";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { encodePolicySafetensors } from "../../src/export/safetensors.ts";
import { makeTerrain } from "../../src/model/terrain/terrain.ts";
import { terrainFromImage } from "../../src/model/terrain/image.ts";
import { packZip } from "../../src/model/zip-stream.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { readRecording, recordedModel } from "../../src/render/recording.ts";
import { png } from "../../src/render/png.ts";
import { recordEpisodes } from "../../src/runs/record-episodes.ts";
import { replay } from "../../src/crash/replay.ts";
import { AppliedPolicy } from "../../src/rl/networks/apply-policy.ts";
import { Ppo } from "../../src/rl/index.ts";
import { openBrowser, type Browser, type Page } from "../support/browser.ts";
import { ROOT } from "../support/imports.ts";
import { learned } from "../support/learned.ts";
import { serveFiles, type FileServer } from "../support/serve-files.ts";
import { envBounds } from "../support/tolerances.ts";
import { FLOAT64, inFloat64, SHORT, type Hashes } from "../support/wasm-hashes.ts";

const PAGE = `<!doctype html><title>corral</title><link rel="icon" href="data:,"><body><script type="module" src="page.js"></script>`;
const pinned = JSON.parse(readFileSync(join(ROOT, "test/support/wasm-hashes.json"), "utf8")) as Record<string, Hashes>;

/** The first example of the guide. */
const EXAMPLE = /```js\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs/in-the-browser.md"), "utf8"))![1];
const NONE = "no browser for this system";
/** What CartPole comes to within the short run, far above the 20 of random actions. */
const CARTPOLE_LEARNED = 100;

/** Links of the hand, each with a mesh of its own: more than files may name one another. */
const LINKS = 20;
const link = (i: number) => `<link name="l${i}">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://tools/meshes/t${i}.obj"/></geometry></collision></link>
    <joint name="j${i}" type="continuous"><parent link="base"/><child link="l${i}"/></joint>`;
const TETRA = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
const NUMBERS = Array.from({ length: LINKS }, (_, i) => i);

/** A model in a folder, and its files above and beside it. */
const MODEL = {
  "scene.xml": `<mujoco model="scene"><compiler meshdir="meshes"/><include file="../ball.xml"/><asset><mesh file="tetra.obj"/></asset>
    <worldbody><body name="block"><freejoint/><geom type="mesh" mesh="tetra"/></body></worldbody></mujoco>`,
  "../ball.xml": `<mujoco><worldbody><body name="ball"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>`,
  "urdf/arm.urdf": `<robot name="arm"><link name="base"/><link name="link"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://tools/meshes/tetra.obj"/></geometry></collision></link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="link"/></joint></robot>`,
  "meshes/tetra.obj": TETRA,
  "urdf/hand.urdf": `<robot name="hand"><link name="base"/>${NUMBERS.map(link).join("")}</robot>`,
  ...Object.fromEntries(NUMBERS.map((i) => [`meshes/t${i}.obj`, TETRA])),
};
const inFolder = (folder: string): Record<string, Uint8Array> =>
  Object.fromEntries(
    Object.entries(MODEL).map(([path, text]) => [
      posix.normalize(posix.join(folder, path)),
      new TextEncoder().encode(text),
    ]),
  );

/** A picture of a slope. */
const HILL = png({ width: 4, height: 3, rgba: Uint8Array.from({ length: 48 }, (_, i) => 5 * (i - (i % 4))) });

const folder = mkdtempSync(join(tmpdir(), "corral-page-"));
let browser: Browser | undefined;
let server: FileServer;
beforeAll(async () => {
  browser = await openBrowser();
  const { files } = await buildBrowser({ entries: { page: join(ROOT, "test/support/library-page.ts") } });
  const zip = await packZip(inFolder("robot/"));
  server = await serveFiles({
    ...files,
    ...inFolder("models/"),
    "models/scene.zip": zip,
    "cut.zip": zip.subarray(0, 100),
    "mujoco.wasm": pathToFileURL(mujocoWasm()),
    "example.js": EXAMPLE.replace("corral/browser", "./corral.js"),
    "index.html": PAGE,
    "hill.png": HILL,
  });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await browser?.close();
  await server.close();
});

/** A page with the library, and what it has said that it should not. */
async function open(isolated = false): Promise<{ page: Page; wrong: string[] }> {
  const page = await browser!.newPage();
  const wrong: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  await page.goto(`${server.url}${isolated ? "isolated/" : ""}index.html`);
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  return { page, wrong };
}

describe("the library in a browser", () => {
  test.for(["HalfCheetah-v5", "Ant-v5", "CartPole", "dm-finger-spin"])(
    "steps %s on wasm to the bits of Node",
    async (id, context) => {
      if (!browser) return context.skip(NONE);
      const { page, wrong } = await open();
      const hash = await page.evaluate<string>(`hashOf(${JSON.stringify(id)}, ${SHORT}, { threads: 1 })`);
      expect(hash).toBe(pinned[id].short);
      expect(wrong).toEqual([]);
      await page.close();
    },
  );

  test("steps in float64 to the bits of Node", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const hash = await page.evaluate<string>(
      `hashOf("Hopper-v5", ${SHORT}, ${JSON.stringify({ ...FLOAT64, threads: 1 })})`,
    );
    expect(hash).toBe(pinned[inFloat64("Hopper-v5")].short);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("learns CartPole to the bits of Node", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const there = await page.evaluate<{ parameters: number[]; meanReturn: number }>(
      "learned().then(({ parameters, meanReturn }) => ({ parameters: [...parameters], meanReturn }))",
    );
    const { parameters, meanReturn } = await learned({ makeVec, Ppo });
    expect(there.parameters).toEqual([...parameters]);
    expect(there.meanReturn).toBe(meanReturn);
    expect(meanReturn).toBeGreaterThan(CARTPOLE_LEARNED);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("shares the work with threads where the page is isolated, to the same bits", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open(true);
    expect(await page.evaluate("crossOriginIsolated")).toBe(true);
    const hash = `hashOf("HalfCheetah-v5", ${SHORT}, { threads: 3, numEnvs: 512 })`;
    expect(await page.evaluate(hash)).toBe(pinned["HalfCheetah-v5"].short);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("takes one thread elsewhere, and says so", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const hash = `hashOf("HalfCheetah-v5", ${SHORT}, { threads: 3, numEnvs: 512 })`;
    expect(await page.evaluate(hash)).toBe(pinned["HalfCheetah-v5"].short);
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toContain("corral-one-thread");
    expect(wrong[0]).toContain("Cross-Origin-Opener-Policy");
    await page.close();
  });

  test("steps and learns on WebGPU", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const stepped = `corral.makeVec("HalfCheetah-v5", { numEnvs: 64, device: "gpu", recorder: false }).then(async (envs) => {
      await envs.reset({ seed: 1 });
      for (let t = 0; t < 4; t++) await envs.step(envs.actionSpace.sample(3, { draw: t }));
      const { qpos } = await envs.getState(["qpos"]);
      const name = envs.deviceName;
      await envs.close();
      return { qpos: [...qpos], name };
    })`;
    const there = await page.evaluate<{ qpos: number[]; name: string }>(stepped);
    await using envs = await makeVec("HalfCheetah-v5", { numEnvs: 64, device: "wasm", recorder: false });
    await envs.reset({ seed: 1 });
    for (let t = 0; t < 4; t++) await envs.step(envs.actionSpace.sample(3, { draw: t }));
    const { qpos } = await envs.getState(["qpos"]);
    there.qpos.forEach((x, i) => expect(Math.abs(x - qpos[i])).toBeLessThan(envBounds.drawnPath.value));
    expect(there.name).toMatch(/swiftshader/i);
    const learns = `corral.makeVec("CartPole", { numEnvs: 16, device: "gpu" }).then(async (envs) => {
      const ppo = await corral.Ppo.create(envs, { rolloutSteps: 8, hidden: [8], seed: 1 });
      await ppo.iterate();
      const parameters = await ppo.parameters();
      await ppo.close();
      await envs.close();
      return parameters.every(Number.isFinite);
    })`;
    expect(await page.evaluate(learns)).toBe(true);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("refuses by the same codes, and closes", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const code = (call: string) => page.evaluate<string>(`codeOf(async () => ${call})`);
    const xml = (inside: string) => JSON.stringify(`<mujoco>${inside}</mujoco>`);
    expect(await code(`corral.loadModel(${xml("<nothing/>")})`)).toBe("model-compile");
    expect(await code(`corral.loadModel(" ")`)).toBe("empty-file");
    expect(await code(`corral.loadModel("none.xml")`)).toBe("missing-file");
    // the page, as a server of a bundler gives it in place of a file
    expect(await code(`corral.loadModel("index.html")`)).toBe("missing-file");
    expect(await code(`corral.loadModel("cut.zip")`)).toBe("bad-archive");
    const mesh = '<asset><mesh file="gone.stl"/></asset><worldbody><geom type="mesh" mesh="gone"/></worldbody>';
    expect(await code(`corral.loadModel(${xml(mesh)})`)).toBe("missing-file");
    expect(await code(`corral.makeVec("Nothing-v0", { numEnvs: 4 })`)).toBe("unknown-env");
    expect(await code(`corral.makeVec("Ant-v5", { numEnvs: 4, device: "wasm", threads: 1, budget: "1KiB" })`)).toBe(
      "budget-exceeded",
    );
    expect(await code(`corral.makeVec("Ant-v5", { numEnvs: 4, adapter: "embedded" })`)).toBe("adapter-unknown");
    expect(await code(`corral.openDevice({ adapter: "gpu" })`)).toBe("adapter-unavailable");
    expect(
      await code(
        `corral.planVec("Ant-v5", { numEnvs: 4096, device: "wasm", budget: "1MiB" }).then((p) => p.problems.length > 0)`,
      ),
    ).toBe("returned true");
    const closed = `corral.makeVec("CartPole", { numEnvs: 4, device: "wasm", threads: 1 }).then(async (envs) => {
      await envs.reset();
      await envs.close();
      await envs.step(new Int32Array(4));
    })`;
    expect(await code(closed)).toBe("closed");
    // what is fetched and is not there, the browser says itself
    expect(wrong.filter((text) => !text.includes("404"))).toEqual([]);
    await page.close();
  });

  test("fetches a model and what it names, from an address or a zip", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const bodies = (path: string) =>
      page.evaluate<string>(`corral.loadModel(${JSON.stringify(path)}).then((m) => m.names.body.join())`);
    expect(await bodies("models/scene.xml")).toBe("world,ball,block");
    expect(await bodies("models/scene.zip")).toBe("world,ball,block");
    expect(await bodies("models/scene.zip/robot/scene.xml")).toBe("world,ball,block");
    expect(wrong).toEqual([]);
    // a package is looked for in the folders above
    expect(await bodies("models/urdf/arm.urdf")).toBe("world,link");
    expect(await bodies("models/urdf/hand.urdf")).toBe(["world", ...NUMBERS.map((i) => `l${i}`)].join());
    expect(wrong.filter((text) => !text.includes("404"))).toEqual([]);
    const gone = "corral.loadModel('models/scene.zip/none.xml').catch(({ message }) => message)";
    expect(await page.evaluate(gone)).toBe('[missing-file] there is no file "none.xml" in "models/scene.zip".');
    await page.close();
  });

  test("makes terrain as Node does, of a picture that it fetches too", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const options = { seed: 3, rows: 2, columns: ["rough", "waves"], patch: 3, border: 0.5 } as const;
    const ground = `corral.makeTerrain(${JSON.stringify(options)}).heights`;
    expect(await page.evaluate(`Array.from(${ground})`)).toEqual([...makeTerrain(options).heights]);
    const shown = "corral.terrainFromImage('hill.png', { height: 1 }).then(({ heights }) => Array.from(heights))";
    expect(await page.evaluate(shown)).toEqual([...(await terrainFromImage(HILL, { height: 1 })).heights]);
    const code = "codeOf(() => corral.terrainFromImage('gone.png', { height: 1 }))";
    expect(await page.evaluate(code)).toBe("missing-file");
    // what the browser says of the picture that is not there
    expect(wrong.filter((text) => !text.includes("404"))).toEqual([]);
    await page.close();
  });

  test("runs the example of its guide", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open(true);
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    await page.evaluate('import("./example.js").then(() => true)');
    expect(said.map((text) => text.replace(/loss .*/, ""))).toEqual([
      "2048 env steps, ",
      "4096 env steps, ",
      "6144 env steps, ",
    ]);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("gives a crash as a bundle that Node replays, and episodes as a recording that it shows", async (context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await open();
    const { name, zip, episodes } = await page.evaluate<Record<"name" | "zip" | "episodes", string>>(`(async () => {
      const base64 = async (bytes) => {
        const reader = new FileReader();
        reader.readAsDataURL(new Blob([bytes]));
        await new Promise((done) => (reader.onload = done));
        return reader.result.split(",")[1];
      };
      let saved = [];
      const recorder = { everySteps: 4, save: (...given) => (saved = given) };
      const envs = await corral.makeVec("InvertedPendulum-v5", { numEnvs: 4, device: "wasm", threads: 1, recorder });
      const episodes = await corral.recordEpisodes(envs, () => new Float32Array(4).fill(0.2), { seed: 3 });
      await envs.reset({ seed: 3 });
      await envs.setState({ qvel: [1e30, -1e30] }, [2]);
      await envs.step(new Float32Array(4));
      await envs.close();
      return { name: saved[0], zip: await base64(saved[1]), episodes: await base64(episodes) };
    })()`);
    const [bundle, recording] = [join(folder, name), join(folder, "episodes.npz")];
    writeFileSync(bundle, Buffer.from(zip, "base64"));
    writeFileSync(recording, Buffer.from(episodes, "base64"));
    const found = readBundle(bundle);
    expect(found.about.platform).toMatch(/^browser Chrome /);
    expect(await replay(found)).toMatchObject({ identical: true });

    const read = readRecording(recording);
    expect((await recordedModel(read, recording)).nq).toBe(2);
    await using envs = await makeVec("InvertedPendulum-v5", { numEnvs: 4, device: "wasm", threads: 1 });
    const here = join(folder, "here.npz");
    writeFileSync(here, await recordEpisodes(envs, () => new Float32Array(4).fill(0.2), { seed: 3 }));
    expect(read.lengths).toEqual(readRecording(here).lengths);
    expect(read.arrays).toEqual(readRecording(here).arrays);
    // a bundle that nobody takes is told of, in the page's console
    expect(wrong.filter((text) => !text.includes("corral-crash"))).toEqual([]);
    await page.close();
  });

  test("lets an exported policy act", async (context) => {
    if (!browser) return context.skip(NONE);
    await using envs = await makeVec("CartPole", { numEnvs: 8, device: "wasm", recorder: false, seed: 2 });
    await using ppo = await Ppo.create(envs, { rolloutSteps: 8, hidden: [8], seed: 1 });
    const policy = await ppo.policy();
    const { observations } = await envs.reset({ seed: 5 });
    const wanted = new AppliedPolicy(policy, 8).act(observations);
    const { page } = await open();
    const bytes = JSON.stringify([...encodePolicySafetensors(policy)]);
    const acts = `new corral.AppliedPolicy(corral.readPolicy(new Uint8Array(${bytes})), 8).act(${JSON.stringify([...observations])})`;
    expect(await page.evaluate(acts)).toEqual(wanted);
    await page.close();
  });
});
