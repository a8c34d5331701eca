// pages in a browser, and what their pictures show
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { inflateSync } from "node:zlib";
import type { GpuDevice } from "../../src/gpu/index.ts";
import { DrawList } from "../../src/render/draw-list.ts";
import { png, type Picture } from "../../src/render/png.ts";
import { Renderer } from "../../src/render/renderer.ts";
import { SHOWN, showWorlds, type Marks, type Poses } from "../../src/render/show.ts";
import type { Facts } from "../../src/view/messages.ts";
import { Looking } from "../../src/view/looking.ts";
import type { Browser, Locator, Page } from "./browser.ts";

const faults = new WeakMap<Page, string[]>();

/** Ends a wait for what a page that has failed will never show: a picture after its GPU was lost, say. */
async function assertSound(page: Page): Promise<void> {
  const said = faults.get(page)?.filter((text) => !/^(https?|file):/.test(text)) ?? [];
  if (said.length > 0) throw new Error(`the page said: ${said.join("; ")}`);
  const note = await page.evaluate<string>("document.querySelector('#note')?.textContent ?? ''");
  if (/was lost/.test(note)) throw new Error(`the page says: ${note}`);
}

/** Milliseconds after which what was waited for will not come: pages show within two seconds what is asked of them. */
const NEVER_MS = 150_000;

/** A wait for a page, which ends in words rather than at the test's own limit. */
export class Waiting {
  readonly #ends = Date.now() + NEVER_MS;
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  async on(page: Page): Promise<void> {
    await assertSound(page);
    if (Date.now() > this.#ends) {
      const now = await page.evaluate<string>("document.querySelector('#now')?.textContent ?? ''");
      throw new Error(`waited ${NEVER_MS / 1000} s for ${this.#what}; the page is at "${now}"`);
    }
    await pause(50);
  }
}

/** A page, and what it has said that it should not. */
export async function openPage(
  browser: Browser,
  url: string,
  size = { width: 480, height: 400 },
  before?: string,
): Promise<{ page: Page; wrong: string[] }> {
  const page = await browser.newPage({ viewport: size });
  if (before !== undefined) await page.addInitScript(before);
  const wrong: string[] = [];
  faults.set(page, wrong);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (made) => {
    if (!made.url().startsWith(url) && !/^(data|blob):/.test(made.url())) wrong.push(made.url());
  });
  await page.goto(url);
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  return { page, wrong };
}

/** Pixels of a PNG of eight bits of red, green and blue, with or without alpha. */
export function pixelsOf(png: Buffer): { width: number; height: number; at: (x: number, y: number) => number[] } {
  const [width, height, colour] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]];
  const channels = colour === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.subarray(at + 4, at + 8).toString() === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const rows = inflateSync(Buffer.concat(parts));
  const stride = channels * width;
  const out = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (stride + 1)];
    for (let i = 0; i < stride; i++) {
      const before = (dx: number, dy: number) => {
        const [x, row] = [i - dx * channels, y - dy];
        return x < 0 || row < 0 ? 0 : out[row * stride + x];
      };
      const [a, b, c] = [before(1, 0), before(0, 1), before(1, 1)];
      const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
      const paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      const predicted = [0, a, b, (a + b) >> 1, paeth][filter];
      out[y * stride + i] = rows[y * (stride + 1) + 1 + i] + predicted;
    }
  }
  return { width, height, at: (x, y) => [...out.subarray(y * stride + channels * x, y * stride + channels * x + 3)] };
}

/** Pixels of a picture in which a channel outshines the others by much. */
export function count(png: Buffer, channel: number): number {
  const { width, height, at } = pixelsOf(png);
  let found = 0;
  for (let y = 0; y < height; y += 2)
    for (let x = 0; x < width; x += 2) {
      const colour = at(x, y);
      if (colour.every((value, i) => i === channel || colour[channel] > value + 60)) found++;
    }
  return found;
}

export const stepOf = async (page: Page): Promise<number> =>
  Number(/step (\d+)/.exec((await page.locator("#now").textContent()) ?? "")?.[1]);

/** Asks until it is so; the policy of the page lets no text become code within it. */
export async function settled(page: Page, condition: string): Promise<void> {
  const waiting = new Waiting(condition);
  while (!(await page.evaluate<boolean>(condition))) await waiting.on(page);
}

/** Looks until as many pixels of a channel are as they should be; returns the last picture. */
export async function seen(canvas: Locator, channel: number, isRight: (pixels: number) => boolean): Promise<Buffer> {
  const waiting = new Waiting(`pixels of channel ${channel}`);
  for (;;) {
    const picture = await canvas.screenshot();
    if (isRight(count(picture, channel))) return picture;
    await waiting.on(canvas.page());
  }
}
export const many = (pixels: number): boolean => pixels > 50;
export const none = (pixels: number): boolean => pixels === 0;

/** How far a picture of a page is from one that was drawn here: the mean distance of a channel, of 255. */
export function apart(page: Buffer, { width, height, rgba }: Picture): number {
  const shown = pixelsOf(page);
  if (shown.width !== width || shown.height !== height)
    throw new Error(`the page's picture is ${shown.width} x ${shown.height}, the other ${width} x ${height}`);
  let sum = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      shown.at(x, y).forEach((value, i) => (sum += Math.abs(value - rgba[4 * (y * width + x) + i])));
  return sum / (3 * width * height);
}

const KEPT = new URL("../browser/pictures/", import.meta.url);

/** How far a picture is from the one that is kept under a name; CORRAL_KEEP_PICTURES=1 keeps it anew. */
export function fromKept(name: string, picture: Picture): number {
  const file = new URL(`${name}.png`, KEPT);
  if (process.env.CORRAL_KEEP_PICTURES) writeFileSync(file, png(picture));
  return apart(readFileSync(file), picture);
}

/** A picture of what a page shows, once it stands still: two that are taken one after the other are alike. */
export async function still(canvas: Locator): Promise<Picture> {
  const waiting = new Waiting("a picture that stands still");
  let last: Buffer | undefined;
  for (;;) {
    await canvas.page().evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const next = await canvas.screenshot();
    if (last?.equals(next)) break;
    await waiting.on(canvas.page());
    last = next;
  }
  const { width, height, at } = pixelsOf(last);
  const rgba = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) rgba.set(at(i % width, Math.floor(i / width)), 4 * i);
  return { width, height, rgba };
}

/** Draws in Node what a page shows of a subject, as large as its canvas. */
export async function drawnHere(
  gpu: GpuDevice,
  { facts, poses }: { readonly facts: Facts; readonly poses: Poses },
  size: { readonly width: number; readonly height: number },
  look: (looking: Looking) => Marks,
): Promise<Picture> {
  const renderer = await Renderer.create(gpu, facts.scene, { ...size, capacity: 100 });
  try {
    const [list, looking] = [new DrawList(), new Looking(facts)];
    const marks = look(looking);
    showWorlds(list, facts.scene, poses, facts.radius, SHOWN, marks);
    return await renderer.draw(list, looking.view(poses), facts.reach);
  } finally {
    renderer.close();
  }
}
