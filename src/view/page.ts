// the page of a viewer: its files, and one file that holds them all with a recording
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { CorralError } from "../core/errors.ts";
import { sceneShader } from "../render/renderer.ts";
import { jsonOf, type Facts } from "./messages.ts";

export interface PageFiles {
  readonly html: string;
  readonly style: string;
  readonly script: string;
}

const FOLDER = new URL("../../viewer/", import.meta.url);

/**
 * The page's files: in the package its script was built; in a checkout it is built now.
 * @throws CorralError viewer-not-built
 */
export async function pageFiles(): Promise<PageFiles> {
  const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");
  const built = existsSync(new URL("page.js", FOLDER));
  return { html: read("index.html"), style: read("style.css"), script: built ? read("page.js") : await build() };
}

async function build(): Promise<string> {
  try {
    const { buildPage } = (await import(new URL("../../tools/viewer-page.mjs", import.meta.url).href)) as {
      readonly buildPage: (entry: string) => Promise<string>;
    };
    return await buildPage(fileURLToPath(new URL("main.ts", FOLDER)));
  } catch (cause) {
    throw new CorralError(
      "viewer-not-built",
      `the page of the viewer cannot be built: ${(cause as Error).message} Run npm install in the checkout.`,
      {},
      { cause },
    );
  }
}

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** One file with everything in it, that loads nothing: facts, the shader and frames as `encodeFrame` has them. */
export async function standalonePage(facts: Facts, frames: readonly Uint8Array[]): Promise<string> {
  const { html, style, script } = await pageFiles();
  const lengths = frames.map((frame) => frame.length);
  const packed = gzipSync(Buffer.concat(frames)).toString("base64");
  // what would end the script within it
  const code = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const data = (id: string, text: string) => `<script type="application/json" id="${id}">${text}</script>`;
  return html
    .replace("<head>", () => `<head>\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace('<link rel="stylesheet" href="style.css" />', () => `<style>${style}</style>`)
    .replace('<script type="module" src="page.js"></script>', () =>
      [
        data("facts", jsonOf(facts)),
        data("shader", JSON.stringify(sceneShader()).replaceAll("<", "\\u003c")),
        data("frames", JSON.stringify({ lengths, packed })),
        `<script type="module">${code}</script>`,
      ].join("\n"),
    );
}
