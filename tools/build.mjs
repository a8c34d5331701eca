/** Builds dist/: the emitted JavaScript and types, with shaders and environment models at the places the sources see them. */

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBrowser } from "./browser-bundle.mjs";
import { bundle } from "./bundle.mjs";
import { emit } from "./emit.mjs";
import { buildPage } from "./viewer-page.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });

const status = emit(dist, "--emitDeclarationOnly");
if (status !== 0) process.exit(status);
await bundle(dist);

const viewer = join(dist, "viewer");
mkdirSync(viewer);
for (const name of ["index.html", "style.css"]) cpSync(join(root, "viewer", name), join(viewer, name));
writeFileSync(join(viewer, "page.js"), await buildPage(join(root, "viewer", "main.ts")));

// MuJoCo's module is a dependency, which the bundler of a site finds
const browser = join(dist, "browser");
mkdirSync(browser);
const { files } = await buildBrowser({ isWhole: false });
for (const [name, text] of Object.entries(files)) writeFileSync(join(browser, name), text);

// what the types name, for projects that do not list it: TypeScript has WebGPU in its DOM since version 6
const REFERENCES = ['lib="dom"', 'lib="esnext.disposable"'];
const TYPES = { "": REFERENCES, "before-6": [...REFERENCES, 'types="@webgpu/types"'] };
mkdirSync(join(dist, "types"));
for (const entry of ["index", "browser"]) {
  for (const [before, references] of Object.entries(TYPES)) {
    const lines = [
      ...references.map((reference) => `/// <reference ${reference} />`),
      `export * from "../src/${entry}.js";`,
      "",
    ];
    const name = [...(entry === "index" && before ? [] : [entry]), ...(before ? [before] : [])].join("-");
    writeFileSync(join(dist, "types", `${name}.d.ts`), lines.join("\n"));
  }
}
