// a page that is left open does not grow: buffers and textures of its GPU, and its heap. CORRAL_PAGE_SECONDS sets for how
// long, with --testTimeout beyond it; the usual run counts pictures
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { viewTarget } from "../../src/cli/view-target.ts";
import { pageFiles } from "../../src/view/page.ts";
import { routesOf } from "../../src/view/routes.ts";
import { ViewServer } from "../../src/view/server.ts";
import { Session } from "../../src/view/session.ts";
import { openBrowser, type Browser } from "../support/browser.ts";
import { fromKept, openPage, settled, still } from "../support/browser-page.ts";
import { pageGrowth, pictureBounds } from "../support/tolerances.ts";

/** Counts what a device holds, and pictures. */
const COUNT = `
  window.held = 0;
  window.drawn = 0;
  const count = (of, name, by) => {
    const call = of.prototype[name];
    of.prototype[name] = function (...given) {
      window.held += by;
      return call.apply(this, given);
    };
  };
  if (window.GPUDevice) {
    for (const name of ["createBuffer", "createTexture"]) count(GPUDevice, name, 1);
    for (const of of [GPUBuffer, GPUTexture]) count(of, "destroy", -1);
    const submit = GPUQueue.prototype.submit;
    GPUQueue.prototype.submit = function (list) {
      window.drawn++;
      return submit.call(this, list);
    };
  }
`;
const WARM = 10;
const MORE = 30;

let browser: Browser | undefined;
let session: Session;
let server: ViewServer;
beforeAll(async () => {
  browser = await openBrowser();
  session = new Session(await viewTarget("Ant-v5", { worlds: "16", threads: "1" }));
  server = await ViewServer.listen(routesOf(session, await pageFiles()));
});
afterAll(async () => {
  await browser?.close();
  await server.close();
  await session[Symbol.asyncDispose]();
});

test("a page that is left open does not grow", async (context) => {
  if (!browser) return context.skip("no browser for this system");
  const { page, wrong } = await openPage(browser, server.url, { width: 320, height: 240 }, COUNT);
  const look = async () => {
    const heaps = [];
    for (let k = 0; k < 3; k++) {
      await page.evaluate("gc()");
      heaps.push(await page.evaluate<number>("performance.memory.usedJSHeapSize"));
    }
    const counts = await page.evaluate<{ held: number; drawn: number }>("({ held: window.held, drawn: window.drawn })");
    return { ...counts, heap: Math.min(...heaps) };
  };
  await settled(page, `window.drawn >= ${WARM}`);
  const before = await look();
  expect(before.held).toBeGreaterThan(10);
  const end = performance.now() + 1000 * Number(process.env.CORRAL_PAGE_SECONDS ?? 0);
  await settled(page, `window.drawn >= ${before.drawn + MORE}`);
  while (performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 1000));
  const after = await look();
  const frames = after.drawn - before.drawn;
  if (process.env.CORRAL_PAGE_SECONDS !== undefined)
    process.stderr.write(
      `${frames} pictures: heap ${before.heap} to ${after.heap}, held ${before.held} to ${after.held}\n`,
    );
  expect(after.held, `after ${frames} pictures`).toBe(before.held);
  expect(after.heap - before.heap, `after ${frames} pictures`).toBeLessThan(pageGrowth.value);
  // worlds in a grid, as they start
  await page.locator("#play").click();
  await settled(page, "document.querySelector('#play').textContent === 'play'");
  await page.locator("#reset").click();
  await settled(page, "document.querySelector('#now').textContent.includes(' 0.000 s')");
  expect(fromKept("grid", await still(page.locator("#canvas")))).toBeLessThan(pictureBounds.page.value);
  expect(wrong).toEqual([]);
  await page.close();
});
