// the page of corral view in a real browser: what it draws, every control, and who is refused
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { viewTarget } from "../../src/cli/view-target.ts";
import { corralInside as corral } from "../support/cli-inside.ts";
import { routesOf } from "../../src/view/routes.ts";
import { pageFiles } from "../../src/view/page.ts";
import { ViewServer } from "../../src/view/server.ts";
import { Session } from "../../src/view/session.ts";
import { openBrowser, type Browser, type Locator } from "../support/browser.ts";
import { openDevice } from "../../src/gpu/index.ts";
import { png, type Picture } from "../../src/render/png.ts";
import { recordingBytes } from "../../src/render/recording-bytes.ts";
import { decodeFrame } from "../../src/view/messages.ts";
import { pictureBounds } from "../support/tolerances.ts";
import {
  Waiting,
  apart,
  drawnHere,
  fromKept,
  many,
  none,
  openPage,
  pixelsOf,
  seen,
  settled,
  stepOf,
  still,
} from "../support/browser-page.ts";

const root = mkdtempSync(join(tmpdir(), "corral-view-"));
const CODE = "<img src=x onerror=document.title='ran'>";
const EVIL = CODE.replaceAll("<", "&lt;");
const MODEL = `<mujoco model="${EVIL}">
  <option timestep="0.01"/>
  <worldbody>
    <camera name="above" pos="0 0 4"/>
    <geom type="plane" size="3 3 0.1"/>
    <body name="red" pos="0 0 0.3"><freejoint/><geom size="0.3" rgba="1 0 0 1"/></body>
    <body name="${EVIL}" pos="1 0 0.2"><joint name="along" type="slide" axis="0 1 0"/>
      <geom type="box" size="0.2 0.2 0.2" rgba="0 1 0 1"/></body>
  </worldbody>
  <actuator><motor joint="along" gear="5" ctrlrange="-1 1"/></actuator>
  <keyframe><key name="high" qpos="0 0 1 1 0 0 0 0.5"/></keyframe>
</mujoco>`;
const file = join(root, "model.xml");
writeFileSync(file, MODEL);

let browser: Browser | undefined;
let session: Session;
let server: ViewServer;
beforeAll(async () => {
  browser = await openBrowser();
  session = new Session(await viewTarget(file, { worlds: "2", actions: "none" }), true);
  server = await ViewServer.listen(routesOf(session, await pageFiles()));
});
afterAll(async () => {
  await browser?.close();
  await server.close();
  await session[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** The colours of every text of the page, and of what each stands on. */
const COLOURS = `(() => {
  const probe = document.createElement("i");
  probe.style.color = "Canvas";
  document.body.append(probe);
  const ground = getComputedStyle(probe).color;
  probe.remove();
  const shows = (element) => element.checkVisibility() && !element.matches(":disabled, #labels *, option") &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (!/[,/] *0\\)$/.test(backgroundColor)) return backgroundColor;
    }
    return ground;
  };
  return [...document.querySelectorAll("body *")].filter(shows)
    .map((element) => [element.textContent.trim().slice(0, 30), getComputedStyle(element).color, groundOf(element)]);
})()`;
/** Of text to its ground (WCAG 2.1, 1.4.3). */
const READABLE = 4.5;

/** The ratio of the luminances of two colours, the lighter by the darker (WCAG 2.1). */
function contrast(colours: readonly string[]): number {
  const [low, high] = colours
    .map((colour) => {
      const [r, g, b] = (colour.match(/[\d.]+/g) ?? []).map((x) => ((Number(x) / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    })
    .toSorted((a, b) => a - b);
  return high / low;
}

/** Waits until what is drawn is as far from a picture as it is to be. */
async function drawnUntil(canvas: Locator, from: Picture, isSo: (far: number) => boolean): Promise<void> {
  const waiting = new Waiting("a picture as far from another as it is to be");
  while (!isSo(apart(await canvas.screenshot(), from))) await waiting.on(canvas.page());
}

describe("corral view", () => {
  test("draws worlds, names are text, every control does what it says", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    const { page, wrong } = await openPage(browser, server.url);
    expect(await page.locator("#title").textContent()).toBe(CODE);
    await page.locator("#camera").selectOption("above");
    await page.locator("#camera").selectOption("free");
    const canvas = page.locator("#canvas");
    await seen(canvas, 0, many);
    await seen(canvas, 1, many);
    // the groups of the geoms, and the geoms that can touch
    await page.locator("#group-0").uncheck();
    await seen(canvas, 0, none);
    await page.locator("#group-0").check();
    await page.locator("#geoms").selectOption("visual");
    await seen(canvas, 0, none);
    await page.locator("#geoms").selectOption("collision");
    await seen(canvas, 0, many);
    await page.locator("#geoms").selectOption("all");
    for (const group of [1, 2]) await page.locator(`#group-${group}`).uncheck();
    for (const group of [3, 4, 5]) await page.locator(`#group-${group}`).check();

    await page.locator("#step").click();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 1,')");
    await page.locator("#back").click();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 0,')");
    await page.locator("#keyframe").selectOption("0");
    await page.locator("#actor").selectOption({ label: "random" });
    await page.locator("#actor").selectOption({ label: "none" });
    // a slider acts at once, and bears the name of the joint where its actuator has none
    expect(await page.locator("#sliders").textContent()).toBe("along0");
    await page.locator("#slider-0").fill("0.5");
    expect(await page.locator("#sliders").textContent()).toBe("along0.5");
    await settled(page, "document.querySelector('#actor').selectedOptions[0].text === 'sliders'");
    await page.locator("#speed").fill("1");
    await settled(page, "document.querySelector('#now').textContent.includes('speed 2.00')");
    for (const name of ["contacts", "forces", "joints", "frames", "centres", "inertia", "clear", "labels"])
      await page.locator(`#show-${name}`).check();
    await settled(page, "document.querySelectorAll('#labels span').length === 2");
    for (const name of ["tendons", "sites", "fields", "textures"]) await page.locator(`#show-${name}`).uncheck();
    // numbers to plot: contacts and a joint's, beside how far MuJoCo is
    await page.locator("#plots summary").click();
    const plotted = (text: string) => `document.querySelector('#lines').textContent.includes('${text}')`;
    const fieldOf = (text: string) =>
      page.evaluate<string>(
        `[...document.querySelectorAll('#fields label')].find((of) => of.textContent.trim() === '${text}').firstChild.id`,
      );
    const chosen = [await fieldOf("contacts"), await fieldOf("contact force"), await fieldOf("qvel along")];
    for (const id of chosen) await page.locator(`#${id}`).check();
    await page.locator("#world").fill("1");
    await page.locator("#play").click();
    for (const text of ["contacts 4", "qvel along 0", "qvel from MuJoCo"]) await settled(page, plotted(text));
    for (const id of chosen) await page.locator(`#${id}`).uncheck();
    await settled(page, `!${plotted("contacts")} && !${plotted("qvel along")}`);
    await settled(page, "Number(/step (\\d+)/.exec(document.querySelector('#now').textContent)[1]) >= 3");
    // a clip of some pictures
    await page.evaluate(
      "{ const make = URL.createObjectURL; URL.createObjectURL = (of) => make.call(URL, (window.saved = of)); }",
    );
    await page.locator("#clip").click();
    const begun = await stepOf(page);
    await settled(page, `Number(/step (\\d+)/.exec(document.querySelector('#now').textContent)[1]) >= ${begun + 3}`);
    expect(await page.locator("#clip").textContent()).toBe("end clip");
    await page.locator("#clip").click();
    await settled(page, "window.saved?.size > 200 && window.saved.type.startsWith('video/')");
    expect(await page.locator("#clip").textContent()).toBe("save clip");
    await page.locator("#play").click();
    await settled(page, "document.querySelector('#play').textContent === 'play'");
    await page.locator("#reset").click();
    // what was under way when it was paused has been shown too
    await settled(page, "document.querySelector('#now').textContent.includes(', 0.000 s')");
    await settled(page, "/^[0-9.]+ ms a picture$/.test(document.querySelector('#pace').textContent)");

    // keys and the mouse
    const box = (await canvas.boundingBox())!;
    const before = await stepOf(page);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.wheel(0, -200);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2 + 10, { steps: 3 });
    await page.mouse.up();
    for (const key of ["a", "d", "w", "s", "+", "-", "h"]) await page.keyboard.press(key);
    await page.keyboard.press("ArrowRight");
    await settled(page, `Number(/step (\\d+)/.exec(document.querySelector('#now').textContent)[1]) === ${before + 1}`);
    // right-drag and alt move what is looked at, home takes it back
    await page.keyboard.press("h");
    const home = await still(canvas);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down({ button: "right" });
    await page.mouse.move(box.x + box.width / 2 + 60, box.y + box.height / 2, { steps: 2 });
    await page.mouse.up({ button: "right" });
    await drawnUntil(canvas, home, (far) => far > 2 * pictureBounds.page.value);
    await page.keyboard.press("h");
    await drawnUntil(canvas, home, (far) => far < pictureBounds.kept.value);
    for (let k = 0; k < 3; k++) await page.keyboard.press("Alt+d");
    await drawnUntil(canvas, home, (far) => far > 2 * pictureBounds.page.value);
    expect(await page.evaluate("document.title")).toBe(CODE);
    expect(await page.evaluate("document.querySelectorAll('img').length")).toBe(0);
    expect(wrong).toEqual([]);
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await page.evaluate("document.documentElement.scrollWidth <= 360")).toBe(true);
    await page.close();
  });

  test("pulls a body by a spring while control is held", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    await session.command({ do: "reset" });
    await session.command({ do: "pause" });
    const { page, wrong } = await openPage(browser, server.url);
    await page.locator("#world").fill("0");
    await page.keyboard.press("Tab");
    await page.locator("#camera").selectOption("0");
    const canvas = page.locator("#canvas");
    await seen(canvas, 0, many);
    const box = (await canvas.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const placeOf = async () => {
      const { poses } = decodeFrame(Uint8Array.from((await session.frame(-1))!).buffer);
      return [...poses.bodies.subarray(7, 9)];
    };
    const before = await placeOf();
    await page.mouse.move(x, y);
    await page.keyboard.down("Control");
    await page.mouse.down();
    expect(await page.locator("#picked").textContent()).toContain("body 1 red");
    // seen from above x is to the right
    await page.mouse.move(x + 60, y, { steps: 3 });
    for (let step = 0; step < 5; step++) {
      const from = await stepOf(page);
      await page.evaluate("document.querySelector('#step').click()");
      await settled(page, `!document.querySelector('#now').textContent.startsWith('step ${from},')`);
    }
    const after = await placeOf();
    expect(after[0] - before[0]).toBeGreaterThan(0.01);
    expect(Math.abs(after[1] - before[1])).toBeLessThan(0.2 * (after[0] - before[0]));
    await page.mouse.up();
    await page.keyboard.up("Control");
    expect(wrong).toEqual([]);
    await page.close();
    await session.command({ do: "reset" });
  });

  test("draws what corral render draws, from each of its cameras", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    await session.command({ do: "reset" });
    await session.command({ do: "pause" });
    const { page, wrong } = await openPage(browser, server.url);
    const canvas = page.locator("#canvas");
    const { width, height } = pixelsOf(await canvas.screenshot());
    const size = { width, height };
    const { facts } = session;
    const gpu = await openDevice();
    try {
      const seen = [];
      for (const mode of ["free", "tracking", "0"]) {
        await page.locator("#camera").selectOption(mode);
        const { poses } = decodeFrame(Uint8Array.from((await session.frame(-1))!).buffer);
        const picture = await drawnHere(gpu, { facts, poses }, size, (looking) => {
          looking.mode = mode;
          return {};
        });
        // the page draws when the browser next asks it to
        await drawnUntil(canvas, picture, (far) => far < pictureBounds.page.value);
        expect(fromKept(`view-${mode}`, picture)).toBeLessThan(pictureBounds.kept.value);
        seen.push(picture);
      }
      // the cameras differ by more than the bound lets pass
      const [free, tracking, above] = seen.map((picture) => Buffer.from(png(picture)));
      expect(apart(free, seen[1])).toBeGreaterThan(2 * pictureBounds.page.value);
      expect(apart(tracking, seen[2])).toBeGreaterThan(2 * pictureBounds.page.value);
      expect(apart(above, seen[0])).toBeGreaterThan(2 * pictureBounds.page.value);
    } finally {
      gpu.close();
    }
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("plays a page that holds its recording, from a file, and loads nothing", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    const out = join(root, "clip.html");
    const made = await corral(["render", file, "--out", out, "--steps", "4", "--actions", "none", "--camera", "above"]);
    expect(made.code, made.stderr).toBe(0);
    const { page, wrong } = await openPage(browser, pathToFileURL(out).href);
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 4,')");
    await page.locator("#back").click();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 3,')");
    expect(await page.locator("#camera").inputValue()).toBe("0");
    await page.locator("#camera").selectOption("tracking");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await page.evaluate<[string, string, string][]>(COLOURS);
      expect(found.length).toBeGreaterThan(20);
      for (const [text, ...colours] of found)
        expect(contrast(colours), `${colorScheme}: "${text}", ${colours.join(" on ")}`).toBeGreaterThan(READABLE);
    }
    expect(fromKept("recording", await still(page.locator("#canvas")))).toBeLessThan(pictureBounds.page.value);
    expect(await page.locator("#title").textContent()).toBe(CODE);
    expect(readFileSync(out, "utf8")).not.toContain(CODE);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("shows a recording from its file, step by step", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    const path = join(root, "episode.npz");
    const rows = [0, 1, 2].map((t) => ({ time: [0.01 * t], qpos: [0, 0, 0.3 + t, 1, 0, 0, 0, 0], reward: [t] }));
    const about = { corral: "0", id: CODE, control_dt: 0.01, reward_terms: [] };
    writeFileSync(path, await recordingBytes(about, { xml: MODEL, file: "model.xml", assets: {} }, [rows]));
    await using shown = new Session(await viewTarget(path, {}), true);
    await using own = await ViewServer.listen(routesOf(shown, await pageFiles()));
    const { page, wrong } = await openPage(browser, own.url, { width: 320, height: 480 });
    expect(await page.locator("#title").textContent()).toBe(CODE);
    await page.locator("#step").click();
    await page.locator("#step").click();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 2, 0.020 s')");
    await settled(page, "document.querySelector('#lines').textContent.includes('reward 2')");
    await page.locator("#back").click();
    await settled(page, "document.querySelector('#now').textContent.startsWith('step 1,')");
    const { poses } = decodeFrame(Uint8Array.from((await shown.frame(-1))!).buffer);
    expect(poses.bodies[7 + 2]).toBeCloseTo(1.3, 6);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("says that worlds broke, and plots what is not finite", async (context) => {
    if (!browser) return context.skip("no browser for this system");
    const broken = join(root, "broken.xml");
    writeFileSync(broken, MODEL.replace("<option", '<option gravity="0 0 -1e30"'));
    await using live = new Session(await viewTarget(broken, { worlds: "2", actions: "none" }), true);
    const served = await ViewServer.listen(routesOf(live, await pageFiles()));
    const { page, wrong } = await openPage(browser, served.url);
    await page.locator("#step").click();
    await settled(
      page,
      "document.querySelector('#now').textContent.includes('world 0 and 1 more broke in step 1 (BAD_')",
    );
    await settled(page, "document.querySelector('#plots').textContent.includes('qpos from MuJoCo Infinity')");
    await page.locator("#back").click();
    await settled(page, "!document.querySelector('#now').textContent.includes('broke')");
    await page.locator("#step").click();
    await settled(page, "document.querySelector('#now').textContent.includes('broke')");
    await page.locator("#reset").click();
    await settled(page, "!document.querySelector('#now').textContent.includes('broke')");
    expect(wrong).toEqual([]);
    await page.close();
    await served.close();
  });

  test("says so where there is no WebGPU", async (context) => {
    const bare = await openBrowser(false);
    if (!bare) return context.skip("no browser for this system");
    const page = await bare.newPage();
    await page.goto(server.url);
    await page.waitForSelector("body[data-ready]", { state: "attached" });
    expect(await page.locator("#note").textContent()).toContain("WebGPU");
    await bare.close();
  });

  test("answers this machine's own page alone", async () => {
    const { port, host, pathname } = new URL(server.url);
    const ask = (path: string, headers: Record<string, string> = {}, method = "GET", body = "") =>
      new Promise<number>((resolve, reject) => {
        const made = request({ host: "127.0.0.1", port, path, method, headers: { host, ...headers } }, (response) => {
          response.resume();
          resolve(response.statusCode!);
        });
        made.on("error", reject);
        made.end(body);
      });
    const origin = `http://${host}`;
    const json = { "content-type": "application/json" };
    expect(await ask(pathname)).toBe(200);
    expect(await ask(pathname, { host: "evil.example" })).toBe(403);
    expect(await ask(pathname, { host: `evil.example:${port}` })).toBe(403);
    expect(await ask(pathname, { origin: "https://evil.example" })).toBe(403);
    expect(await ask(pathname, { origin: "null" })).toBe(403);
    expect(await ask(pathname, { "sec-fetch-site": "cross-site" })).toBe(403);
    for (const path of ["/", "/index.html", `${pathname.slice(0, -2)}/`, "/x/scene", `//${pathname}`])
      expect(await ask(path), path).toBe(404);
    for (const path of ["../package.json", "..%2fpackage.json", "%2e%2e/", "scene/../../x", "__proto__", "toString"])
      expect(await ask(pathname + path), path).toBe(404);
    expect(await ask(`${pathname}act`, json, "POST", "{}")).toBe(403);
    expect(await ask(`${pathname}act`, { origin, "content-type": "text/plain" }, "POST", "{}")).toBe(403);
    expect(await ask(`${pathname}act`, { origin, ...json }, "POST", "x".repeat(5000))).toBe(413);
    for (const body of ["{}", "{", "null", `{"do":"constructor"}`, `{"do":"drag","point":["x"]}`])
      expect(await ask(`${pathname}act`, { origin, ...json }, "POST", body), body).toBe(400);
    expect(await ask(`${pathname}act`, { origin, ...json }, "POST", `{"do":"pause"}`)).toBe(204);
    expect(await ask(pathname, {}, "DELETE")).toBe(405);
  });
});
