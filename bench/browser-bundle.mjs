/** Sizes of the bundle for browsers, as a table in bench/results. `node bench/browser-bundle.mjs` */

import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { buildBrowser, mujocoWasm } from "../tools/browser-bundle.mjs";

const kilobytes = (bytes) => (bytes / 1000).toFixed(0);
const row = (name, texts) => {
  const sum = (size) => kilobytes(texts.reduce((total, text) => total + size(text), 0));
  return `| ${name} | ${sum((t) => t.length)} | ${sum((t) => gzipSync(t).length)} | ${sum((t) => brotliCompressSync(t).length)} |`;
};

const own = Object.values((await buildBrowser({ isWhole: false })).files).map((text) => Buffer.from(text));
const whole = Object.values((await buildBrowser()).files).map((text) => Buffer.from(text));
const { files, metafile } = await buildBrowser({ isWhole: false, metafile: true });
const parts = new Map();
for (const { inputs } of Object.values(metafile.outputs)) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const part = /^(src\/[^/]+|[^/]+)/.exec(path.replace(/^built:.*/, "shaders"))[1];
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
  row(`own code (${Object.keys(files).length} files)`, own),
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
