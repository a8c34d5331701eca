// a real browser with WebGPU on its software adapter, that npm alone installs
import { join } from "node:path";
import { tmpdir } from "node:os";
import { PATIENCE_MS } from "./patience.ts";

/** What is used of playwright-core. */
export interface Page {
  goto(url: string): Promise<unknown>;
  addInitScript(script: string): Promise<unknown>;
  on(event: "console", heard: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", heard: (error: Error) => void): void;
  on(event: "request", heard: (request: { url(): string }) => void): void;
  locator(selector: string): Locator;
  frameLocator(selector: string): Pick<Page, "locator">;
  waitForSelector(selector: string, options?: { state?: "attached" }): Promise<unknown>;
  evaluate<T>(text: string): Promise<T>;
  emulateMedia(options: { colorScheme: "light" | "dark" }): Promise<void>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  screenshot(): Promise<Buffer>;
  setDefaultTimeout(milliseconds: number): void;
  readonly mouse: {
    move(x: number, y: number, options?: { steps?: number }): Promise<void>;
    down(options?: object): Promise<void>;
    up(options?: object): Promise<void>;
    wheel(x: number, y: number): Promise<void>;
  };
  readonly keyboard: {
    press(key: string): Promise<void>;
    down(key: string): Promise<void>;
    up(key: string): Promise<void>;
  };
  close(): Promise<void>;
}

export interface Locator {
  page(): Page;
  click(): Promise<void>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  isChecked(): Promise<boolean>;
  selectOption(value: string | { label: string }): Promise<unknown>;
  fill(text: string): Promise<void>;
  textContent(): Promise<string | null>;
  inputValue(): Promise<string>;
  setInputFiles(files: readonly { name: string; mimeType: string; buffer: Buffer }[]): Promise<void>;
  screenshot(): Promise<Buffer>;
  boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null>;
}

export interface Browser {
  newPage(options?: object): Promise<Page>;
  version(): string;
  close(): Promise<void>;
}

/** With which WebGPU draws to a canvas on SwiftShader. */
const FLAGS = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
  "--use-angle=swiftshader",
  "--ignore-gpu-blocklist",
  // a busy machine draws slowly: its GPU process is not taken for one that hangs, and ended
  "--disable-gpu-watchdog",
  // heaps to the byte, after a collection
  "--enable-precise-memory-info",
  "--js-flags=--expose-gc",
];

/** Opens the browser of @sparticuz/chromium, with WebGPU or without; undefined where there is none for this system. */
export async function openBrowser(webgpu = true): Promise<Browser | undefined> {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  // the package brings NSS and its like along for one system, and unpacks them if it is told that this is it
  process.env.AWS_EXECUTION_ENV ??= "AWS_Lambda_nodejs22.x";
  const { default: chromium } = await import("@sparticuz/chromium");
  const executablePath = await chromium.executablePath();
  const driver: string = "playwright-core";
  const { chromium: engine } = (await import(driver)) as {
    readonly chromium: { launch(options: object): Promise<Browser> };
  };
  // the browser's own driver is found by these too
  const { VK_DRIVER_FILES: _, VK_ICD_FILENAMES: __, ...others } = process.env;
  const env = { ...others, LD_LIBRARY_PATH: join(tmpdir(), "al2023", "lib") };
  const launched = await engine.launch({ executablePath, headless: true, args: webgpu ? FLAGS : [], env });
  return {
    async newPage(options) {
      const page = await launched.newPage(options);
      // the driver's own half minute ends pictures of a busy machine
      page.setDefaultTimeout(PATIENCE_MS);
      return page;
    },
    version: () => launched.version(),
    close: () => launched.close(),
  };
}
