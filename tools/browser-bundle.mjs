/**
 * Builds the library for browsers: `corral.js` and `compile-worker.js`, modules with what they share in files beside
 * them. A source NAME.ts that has a NAME.browser.ts beside it is replaced by that one; what would still need Node does not
 * build.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Files of `shaders` that the library reads; those of exports and the emitted ones are for Node. */
const SHADERS = /^(rl|render|lib)\/.*\.(wgsl|wesl)$/;

const read = (...path) => readFileSync(join(root, ...path), "utf8");
const versionOf = (...path) => JSON.parse(read(...path, "package.json")).version;

function shaders() {
  const listed = readdirSync(join(root, "shaders"), { recursive: true });
  const files = listed.map((file) => file.replaceAll("\\", "/")).filter((file) => SHADERS.test(file));
  // the same bundle whatever order the file system has
  files.sort((a, b) => (a < b ? -1 : 1));
  return Object.fromEntries(files.map((file) => [file, read("shaders", file)]));
}

/** What `corral:built` is; src/core/built.d.ts has its types. */
const built = () => `export const VERSION = ${JSON.stringify(versionOf("."))};
export const PACKAGES = ${JSON.stringify({ "@mujoco/mujoco": versionOf("node_modules", "@mujoco/mujoco") })};
export const SHADERS = ${JSON.stringify(shaders())};`;

const host = {
  name: "browser",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^corral:built$/ }, ({ path }) => ({ path, namespace: "built" }));
    onLoad({ filter: /.*/, namespace: "built" }, () => ({ contents: built() }));

    onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir }) => {
      const twin = resolve(resolveDir, path).replace(/\.ts$/, ".browser.ts");
      return existsSync(twin) ? { path: twin } : undefined;
    });

    // the models of environments are texts of the bundle, those that are named when a task is made too
    onLoad({ filter: /[/\\]envs[/\\].*\.ts$/ }, ({ path }) => {
      const folder = dirname(path);
      const textOf = (file) => readFileSync(join(folder, file), "utf8");
      const models = () => readdirSync(folder).filter((file) => file.endsWith(".xml"));
      const contents = readFileSync(path, "utf8")
        .replace(/new URL\("\.\/([^"]+)", import\.meta\.url\)/g, (_, file) => JSON.stringify(textOf(file)))
        .replace(/new URL\(`\.\/\$\{(\w+)\}\.xml`, import\.meta\.url\)/g, (_, name) => {
          const texts = Object.fromEntries(models().map((file) => [file.slice(0, -4), textOf(file)]));
          return `(${JSON.stringify(texts)})[${name}]`;
        });
      return { contents, loader: "ts" };
    });

    // what MuJoCo's module asks of Node it asks in Node alone
    onResolve({ filter: /^(node:)?(module|worker_threads|fs|path|url|crypto)$/ }, ({ importer, path }) =>
      importer.includes("@mujoco") ? { path, external: true } : undefined,
    );
  },
};

/**
 * Files of the library by name. `entries`: more modules to build with it, by name. `isWhole`: with MuJoCo's module, whose
 * mujoco.wasm is to lie beside the files; else it is left to the bundler of who imports them.
 */
export async function buildBrowser({ isWhole = true, entries = {}, metafile = false } = {}) {
  const result = await build({
    entryPoints: {
      corral: join(root, "src/browser.ts"),
      "compile-worker": join(root, "src/model/compile-worker.ts"),
      ...entries,
    },
    outdir: join(root, "out"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    legalComments: "inline",
    chunkNames: "corral-[hash]",
    external: isWhole ? [] : ["@mujoco/mujoco"],
    plugins: [host],
    write: false,
    metafile,
    logLevel: "silent",
  });
  const files = Object.fromEntries(
    result.outputFiles.map(({ path, text }) => [relative(join(root, "out"), path).replaceAll("\\", "/"), text]),
  );
  return { files, metafile: result.metafile };
}

/** MuJoCo's program, which the files load. */
export const mujocoWasm = () => join(root, "node_modules", "@mujoco", "mujoco", "mujoco.wasm");
