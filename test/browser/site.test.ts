// the demo site in a real browser: Ants that move, the slider, a push, a model from a file
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildSite } from "../../tools/site.mjs";
import { openBrowser, type Browser } from "../support/browser.ts";
import { fromKept, openPage, settled, still } from "../support/browser-page.ts";
import { isFull } from "../support/sweep.ts";
import { serveFiles, type FileServer } from "../support/serve-files.ts";
import { pictureBounds } from "../support/tolerances.ts";

const NONE = "no browser for this system";
const CODE = "<img src=x onerror=document.title='ran'>";
const MODEL = `<mujoco model="${CODE.replaceAll("<", "&lt;")}"><worldbody>
  <geom type="plane" size="3 3 0.1"/><body pos="0 0 1"><freejoint/><geom size="0.2"/></body>
</worldbody></mujoco>`;
/** What the picture's own page says. */
const inside = (id: string): string =>
  `(document.querySelector("iframe")?.contentDocument?.querySelector("#${id}")?.textContent ?? "")`;
const stepped = (steps: number): string => `Number(/step (\\d+)/.exec(${inside("now")})?.[1]) >= ${steps}`;

let browser: Browser | undefined;
let server: FileServer;
beforeAll(async () => {
  browser = await openBrowser();
  server = await serveFiles(await buildSite());
});
afterAll(async () => {
  await browser?.close();
  await server.close();
});

describe("the demo site", () => {
  test.for(["", "isolated/"])("moves Ants, takes pushes and models; %s", async (path, context) => {
    if (!browser) return context.skip(NONE);
    const { page, wrong } = await openPage(browser, `${server.url}${path}index.html`, { width: 480, height: 600 });
    const own = () => wrong.filter((text) => !text.startsWith(server.url));
    await page.locator("#worlds").fill("4");
    await page.keyboard.press("Tab");
    await settled(page, `${inside("title")} === "Ant-v5" && ${inside("device")}.startsWith("4 worlds")`);
    await settled(page, stepped(3));
    await settled(page, `document.querySelector("#rate").textContent.includes("env steps/s")`);
    // beyond the threads that move its Ants it is the same page
    if (path === "isolated/" && !isFull) {
      expect(own()).toEqual([]);
      return page.close();
    }
    await page.locator("#time").fill("0");
    expect(await page.locator("#trained").textContent()).toBe("not trained");
    await page.locator("#push").click();
    const before = await page.evaluate<number>(`Number(/step (\\d+)/.exec(${inside("now")})[1])`);
    await settled(page, stepped(before + 2));

    await page.locator("#files").setInputFiles([{ name: "m.xml", mimeType: "text/xml", buffer: Buffer.from(MODEL) }]);
    await settled(page, `${inside("device")}.startsWith("16 worlds")`);
    await settled(page, stepped(2));
    expect(await page.locator("#shown").textContent()).toBe("m.xml");
    for (const [text, said] of [
      ["<mujoco>", "[model-compile]"],
      ["", "[empty-file] bad.xml is empty"],
      [
        '<mujoco><asset><mesh name="a" file="a.stl"/></asset><worldbody><geom type="mesh" mesh="a"/></worldbody></mujoco>',
        "drop a zip of the model",
      ],
      ["PK\u0003\u0004", '[bad-archive] "bad.xml" is a zip that cannot be read'],
    ]) {
      const bad = { name: "bad.xml", mimeType: "text/xml", buffer: Buffer.from(text) };
      await page.locator("#files").setInputFiles([bad]);
      await settled(page, `document.querySelector("#note").textContent.includes(${JSON.stringify(said)})`);
    }
    await page.locator("#ants").click();
    await settled(page, `${inside("title")} === "Ant-v5"`);
    const frame = page.frameLocator("iframe");
    await settled(page, stepped(1));
    await frame.locator("#play").click();
    await settled(page, `${inside("play")} === "play"`);
    await frame.locator("#reset").click();
    await settled(page, `${inside("now")}.includes(" 0.000 s")`);
    expect(fromKept("site", await still(frame.locator("#canvas")))).toBeLessThan(pictureBounds.page.value);
    expect(await page.evaluate("document.querySelectorAll('img').length")).toBe(0);
    expect(await page.evaluate("document.title")).not.toBe("ran");
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await page.evaluate("document.documentElement.scrollWidth <= 360")).toBe(true);
    expect(own()).toEqual([]);
    await page.close();
  });
});
