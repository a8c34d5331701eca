// the library in a real browser: compiled there, stepped there, with the bits that Node has
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildBrowser, mujocoWasm } from "../../tools/browser-bundle.mjs";
import { openBrowser, type Browser, type Page } from "../support/browser.ts";
import { ROOT } from "../support/imports.ts";
import { serveFiles, type FileServer } from "../support/serve-files.ts";
import { SHORT, type Hashes } from "../support/wasm-hashes.ts";

const PAGE = `<!doctype html><title>corral</title><link rel="icon" href="data:,"><body><script type="module" src="page.js"></script>`;
const pinned = JSON.parse(readFileSync(join(ROOT, "test/support/wasm-hashes.json"), "utf8")) as Record<string, Hashes>;

let browser: Browser | undefined;
let server: FileServer;
beforeAll(async () => {
  browser = await openBrowser();
  const { files } = await buildBrowser({ entries: { page: join(ROOT, "test/support/library-page.ts") } });
  server = await serveFiles({ ...files, "mujoco.wasm": pathToFileURL(mujocoWasm()), "index.html": PAGE });
});
afterAll(async () => {
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
  test.each(["HalfCheetah-v5", "Ant-v5", "CartPole"])("steps %s on wasm to the bits of Node", async (id) => {
    if (!browser) return;
    const { page, wrong } = await open();
    const hash = await page.evaluate<string>(`hashOf(${JSON.stringify(id)}, ${SHORT}, { threads: 1 })`);
    expect(hash).toBe(pinned[id].short);
    expect(wrong).toEqual([]);
    await page.close();
  });
});
