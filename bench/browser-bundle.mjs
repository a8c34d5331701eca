/** Sizes of the bundle for browsers, as a table in bench/results. `node bench/browser-bundle.mjs` */

import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { atStart, buildBrowser, mujocoWasm } from "../tools/browser-bundle.mjs";

const kilobytes = (bytes) => (bytes / 1000).toFixed(0);
const row = (name, texts) => {
  const sum = (size) => kilobytes(texts.reduce((total, text) => total + size(text), 0));
  return `| ${name} | ${sum((t) => t.length)} | ${sum((t) => gzipSync(t).length)} | ${sum((t) => brotliCompressSync(t).length)} |`;
};

const own = (await buildBrowser({ isWhole: false })).files;
const whole = Object.values((await buildBrowser()).files).map((text) => Buffer.from(text));
const { files, metafile } = await buildBrowser({ isWhole: false, metafile: true });
const first = atStart(metafile).map((name) => Buffer.from(files[name]));

/** What a bundler keeps of the library for a page that imports these names, that is loaded at start. */
async function kept(names) {
  const library = {
    name: "library",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/(corral|c-)/ }, ({ path }) => ({ path: path.slice(2), namespace: "library" }));
      onLoad({ filter: /.*/, namespace: "library" }, ({ path }) => ({ contents: own[path] }));
    },
  };
  const { outputFiles, metafile: built } = await build({
    stdin: { contents: `import { ${names} } from "./corral.js"; console.log(${names});`, sourcefile: "page.js" },
    outdir: "out",
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    external: ["@mujoco/mujoco"],
    plugins: [library],
    write: false,
    metafile: true,
  });
  const loaded = atStart(built, "stdin.js");
  return outputFiles.filter(({ path }) => loaded.includes(basename(path))).map(({ contents }) => contents);
}
const parts = new Map();
for (const { inputs } of Object.values(metafile.outputs)) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const part = /^(src\/[^/]+|[^/]+)/.exec(
      path
        .replace(/^corral:shaders/, "shaders")
        .replace(/^corral:.*xml$/, "models of envs")
        .replace(/^corral:/, ""),
    )[1];
    parts.set(part, (parts.get(part) ?? 0) + bytesInOutput);
  }
}
const lines = [
  "# The bundle for browsers",
  "",
  "Written by `node bench/browser-bundle.mjs`. Kilobytes, minified; the goal is at most 1,000 of our own code.",
  "",
  "| | minified | gzip | brotli |",
  "|---|---:|---:|---:|",
  row("own code that is loaded at start", first),
  row("of it for `import { loadModel, makeVec }`", await kept("loadModel, makeVec")),
  row(
    `all own code (${Object.keys(files).length} files: models of environments and texts of kernels are loaded when needed)`,
    Object.values(own).map((text) => Buffer.from(text)),
  ),
  row("with MuJoCo's module", whole),
  row("mujoco.wasm", [readFileSync(mujocoWasm())]),
  "",
  "| part of own code | minified |",
  "|---|---:|",
  ...[...parts].sort((a, b) => b[1] - a[1]).map(([part, bytes]) => `| ${part} | ${kilobytes(bytes)} |`),
  "",
];
writeFileSync(new URL("results/browser-bundle.md", import.meta.url), lines.join("\n"));
console.log(lines.join("\n"));
