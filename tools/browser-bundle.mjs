/**
 * Builds the library for browsers: `corral.js` and `compile-worker.js`, modules with what they share in files beside
 * them. A source NAME.ts that has a NAME.browser.ts beside it is replaced by that one; what would still need Node does not
 * build.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Files of `shaders` that the library reads; those of exports and the emitted ones are for Node. */
const SHADERS = /^(rl|render|lib)\/.*\.(wgsl|wesl)$/;

const read = (...path) => readFileSync(join(root, ...path), "utf8");
const versionOf = (...path) => JSON.parse(read(...path, "package.json")).version;

/** Files of a folder by their paths there, in the same order whatever the file system has. */
function filesOf(folder, pattern) {
  const listed = readdirSync(join(root, folder), { recursive: true }).map((file) => file.replaceAll("\\", "/"));
  return listed.filter((file) => pattern.test(file)).toSorted((a, b) => (a < b ? -1 : 1));
}

/** WGSL without what only readers need. */
const bareWgsl = (text) =>
  text
    .replace(/\/\/.*$/gm, "")
    .replace(/^\s+|\s+$/gm, "")
    .replace(/ ?([{}(),;:=]) ?/g, "$1");

/** MJCF of `envs` without what only readers need, with what it includes. */
function bareXml(file) {
  const text = read("envs", file)
    .replace(/<!--[^]*?-->/g, "")
    .replace(/>\s+</g, "><")
    .trim();
  return text.replace(/<include file="([^"]+)"\s*\/>/g, (_, name) =>
    bareXml(posix.join(posix.dirname(file), name)).replace(/^<mujoco[^>]*>|<\/mujoco>$/g, ""),
  );
}

/** Modules that only the build knows, by name; src/core/built.d.ts has their types. What is seldom needed is imported when it is. */
function built(name) {
  if (name === "shaders")
    return `export default ${JSON.stringify(Object.fromEntries(filesOf("shaders", SHADERS).map((file) => [file, bareWgsl(read("shaders", file))])))};`;
  if (name.endsWith(".xml")) return `export default ${JSON.stringify(bareXml(name))};`;
  if (name === "models") {
    const models = filesOf("envs", /\.xml$/).map(
      (file) => `${JSON.stringify(`/${file}`)}: () => import("corral:${file}")`,
    );
    return `export const MODELS = { ${models.join(", ")} };`;
  }
  return `export const VERSION = ${JSON.stringify(versionOf("."))};
export const PACKAGES = ${JSON.stringify({ "@mujoco/mujoco": versionOf("node_modules", "@mujoco/mujoco") })};`;
}

/** Tables whose rows have descriptions. */
const DESCRIBED =
  /[/\\]src[/\\](model[/\\](fields[/\\].*|terrain[/\\]kinds|model)|env[/\\]js-env|physics[/\\]stages|rl[/\\]tables[/\\].*|.*[/\\](options|shared-options|config))\.ts$/;

/** What comes before the unit in a row of the field table, the unit and the description; descriptions of stages and options. */
const ROW = /(\brow\(\s*"[^"]*",\s*"[^"]*",\s*\[[^\]]*\]),\s*"[^"]*",\s*"[^"]*"/g;
const DOC = /\bdoc:\s*(?:"[^"]*"|'(?:[^'\\]|\\.)*'|`[^`$]*`)(?!\s*\+|[^,\s}]),?/g;
/** A member of a struct with its description. */
const MEMBER = /\[\s*("(?:[uif]32|vec4<\w+>|array<[^"]*>)"),\s*"[^"]*",?\s*\]/g;

/** Names of MuJoCo's enums with their numbers: a bundle has room for the numbers alone. */
const ENUMS = new Map(
  [...read("src", "model", "enums.ts").matchAll(/export const (mjt\w+) = \{([^}]*)\}/g)].flatMap(([, name, members]) =>
    // a bit of flags is one shifted
    [...members.matchAll(/(\w+): (\d+)(?: << (\d+))?/g)].map(([, member, value, shift = "0"]) => [
      `${name}.${member}`,
      String(Number(value) << Number(shift)),
    ]),
  ),
);
/** A text with numbers for members of those. */
export const numbered = (text) => text.replace(/\bmjt\w+\.[A-Z]\w*\b/g, (member) => ENUMS.get(member) ?? member);

const host = {
  name: "browser",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^corral:/ }, ({ path }) => ({ path: path.slice("corral:".length), namespace: "corral" }));
    onLoad({ filter: /.*/, namespace: "corral" }, ({ path }) => ({ contents: built(path) }));

    onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir }) => {
      const twin = resolve(resolveDir, path).replace(/\.ts$/, ".browser.ts");
      return existsSync(twin) ? { path: twin } : undefined;
    });

    // models of environments lie in the bundle: `MODELS` has them by these addresses
    onLoad({ filter: /[/\\]envs[/\\].*\.ts$/ }, ({ path }) => {
      const place = relative(join(root, "envs"), path).replaceAll("\\", "/");
      const contents = readFileSync(path, "utf8").replaceAll("import.meta.url", JSON.stringify(`corral:/${place}`));
      return { contents, loader: "ts" };
    });

    // descriptions of fields, stages, structs and options are for docs and commands of Node
    onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
      const text = numbered(readFileSync(path, "utf8"));
      const contents = DESCRIBED.test(path) ? text.replace(ROW, "$1").replace(DOC, "").replace(MEMBER, "$1") : text;
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
    chunkNames: "c-[hash]", // short: imports name them in many places
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

/** Names of the files that a page loads before anything runs that imports `entry`; of a build with `metafile`. */
export function atStart({ outputs }, entry = "corral.js") {
  const paths = [Object.keys(outputs).find((path) => basename(path) === entry)];
  for (const path of paths) {
    const imports = outputs[path].imports.filter(({ kind, external }) => kind === "import-statement" && !external);
    paths.push(...imports.map((imported) => imported.path).filter((imported) => !paths.includes(imported)));
  }
  return paths.map((path) => basename(path));
}

/** MuJoCo's program, which the files load. */
export const mujocoWasm = () => join(root, "node_modules", "@mujoco", "mujoco", "mujoco.wasm");
