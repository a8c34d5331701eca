/** Builds dist/: the emitted JavaScript and types, with shaders and environment models at the places the sources see them. */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBrowser } from "./browser-bundle.mjs";
import { buildPage } from "./viewer-page.mjs";

/** What runs or is read at run time besides the emitted code. */
const ASSETS = {
  shaders: [".wgsl", ".wesl", ".js", ".ts", ".html", ".md"],
  envs: [".xml", ".stl", ".obj", ".png", ".json"],
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
const result = spawnSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
if (result.status !== 0) process.exit(result.status ?? 1);

for (const [folder, endings] of Object.entries(ASSETS)) {
  const from = join(root, folder);
  if (!existsSync(from)) continue;
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !endings.includes(extname(entry.name))) continue;
    const file = join(entry.parentPath, entry.name);
    // only to be read
    if (relative(join(root, "shaders"), file).startsWith("emitted")) continue;
    cpSync(file, join(dist, relative(root, file)));
  }
}

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
