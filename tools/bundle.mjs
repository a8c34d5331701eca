/**
 * Bundles the library for Node: six hundred modules as a few files, which a process loads in a third of the time. Imports
 * of `corral`, of the commands and of threads share what they have in common, so that there is one copy of it.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What is imported, or started as a program, by the path of its file below `src`. */
const ENTRIES = ["index", "browser", "cli/main", "collect-worker", "play-worker", "view-worker", "bench/mujoco-worker"];

/** Folders whose sources are part of what is kept between processes: `sourcesIn` of src/core/cached-values.ts reads it. */
const KEYS = ["src/model", "src/trace"];

const slashed = (path) => path.replaceAll("\\", "/");

/** Stands for `import.meta.url` of a module; texts of programs that name it stay as they are. */
const HERE = "corral_module_url";

// modules find files by where they lie, and all bundles lie in one folder
const places = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\](src|envs)[/\\].*\.ts$/ }, async ({ path }) => {
      const source = readFileSync(path, "utf8");
      if (!source.includes("import.meta.url")) return { contents: source, loader: "ts" };
      const { code } = await transform(source, { loader: "ts", target: "node20", define: { "import.meta.url": HERE } });
      const place = slashed(relative(join(root, "src"), path)).replace(/\.ts$/, ".js");
      const url = `new URL(${JSON.stringify(place.startsWith(".") ? place : `./${place}`)}, import.meta.url).href`;
      return { contents: `const ${HERE} = ${url};\n${code}`, loader: "js" };
    });
  },
};

/** Writes the bundles into `dist/src`. */
export async function bundle(dist) {
  const names = ENTRIES.map((entry) => [entry.replaceAll("/", "-"), join(root, "src", `${entry}.ts`)]);
  await build({
    entryPoints: Object.fromEntries(names),
    outdir: join(dist, "src"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    legalComments: "inline",
    chunkNames: "corral-[hash]",
    plugins: [places],
    logLevel: "error",
  });
  for (const entry of ENTRIES.filter((entry) => entry.includes("/"))) {
    const file = join(dist, "src", `${entry}.js`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `export * from "../${entry.replaceAll("/", "-")}.js";\n`);
  }
  for (const folder of KEYS) {
    mkdirSync(join(dist, folder), { recursive: true });
    writeFileSync(join(dist, folder, "sources.sha256"), digestOf(join(root, folder)));
  }
}

function digestOf(folder) {
  const listed = readdirSync(folder, { recursive: true }).filter((file) => String(file).endsWith(".ts"));
  const files = listed.toSorted((a, b) => (a < b ? -1 : 1));
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}
