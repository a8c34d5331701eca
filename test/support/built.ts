// what the build makes of the sources: processes and threads of it begin in half of the time that they take through tsx
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { emit } from "../../tools/emit.mjs";
import { keep, keptBuild } from "../../tools/kept-build.mjs";
import { ROOT } from "./imports.ts";

let found: string | undefined;

/** The folder of the build: made by the first file that asks after the sources have changed. */
export const builtFolder = (): string => (found ??= madeFolder());

function madeFolder(): string {
  const build = keptBuild("built");
  const { folder, making } = build;
  if (making === undefined) return folder;
  // types are checked by who checks types
  const status = emit(join(making, "dist"), "--noCheck", "--declaration", "false");
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
  // where commands look for it; the last lines of the real one, which itself looks for the copy of the project that it is called in
  const start = `import { main } from "../dist/src/cli/main.js";\nprocess.exitCode = await main(process.argv.slice(2));\n`;
  mkdirSync(join(making, "bin"));
  writeFileSync(join(making, "bin", "corral.js"), start);
  keep(build);
  return folder;
}

/** The program that runs `corral` of the build. */
export const builtCorral = (): string => join(builtFolder(), "bin", "corral.js");

/** What the build made of a source, as a URL; undefined for files that are no part of it. */
export function builtUrl(source: string): string | undefined {
  const path = relative(ROOT, source);
  if (!/^(src|envs)[\\/].*\.ts$/.test(path)) return undefined;
  return pathToFileURL(join(builtFolder(), "dist", path.replace(/ts$/, "js"))).href;
}

/** A script of JavaScript for `node --eval` that imports sources as "./src/FILE.ts", on the build: through tsx a process takes 2 s more. */
export const onBuild = (script: string): string =>
  script.replace(/"\.\/((?:src|envs)\/[^"]+\.ts)"/g, (_, file: string) => JSON.stringify(builtUrl(join(ROOT, file))));

/** Imports of sources, and of the package, become imports of the build; the rest is bundled. */
const onTheBuild: Plugin = {
  name: "on-the-build",
  setup({ onResolve }) {
    onResolve({ filter: /^(\.|file:|corral$)/ }, ({ path, resolveDir }) => {
      const own = path === "corral" ? join(ROOT, "src/index.ts") : join(resolveDir, path);
      const url = builtUrl(path.startsWith("file:") ? fileURLToPath(path) : own);
      return url === undefined ? undefined : { path: url, external: true };
    });
  },
};

/** A program of TypeScript that imports sources, as one that plain Node runs on the build: the path of its file. */
export async function builtProgram(source: string): Promise<string> {
  const outfile = join(builtFolder(), `${basename(source).replace(/\.m?ts$/, "")}-${process.pid}.mjs`);
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    // files beside the program are found where it lies
    define: { "import.meta.url": JSON.stringify(pathToFileURL(source).href) },
    plugins: [onTheBuild],
  });
  return outfile;
}
