// what the build makes of the sources: processes and threads of it begin in half of the time that they take through tsx
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { emit } from "../../tools/emit.mjs";
import { repositoryFiles, ROOT } from "./imports.ts";

const CACHE = join(ROOT, ".cache", "built");
/** Another run may still use an older build. */
const KEPT_MS = 3_600_000;

let found: string | undefined;

/** The folder of the build: made by the first file that asks after the sources have changed. */
export const builtFolder = (): string => (found ??= madeFolder());

function madeFolder(): string {
  const hash = createHash("sha256");
  for (const file of repositoryFiles("src", "envs", "shaders", "package.json")) {
    const { size, mtimeMs } = statSync(join(ROOT, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  const folder = join(CACHE, hash.digest("hex").slice(0, 16));
  if (existsSync(folder)) return folder;

  mkdirSync(CACHE, { recursive: true });
  for (const name of readdirSync(CACHE)) {
    const old = join(CACHE, name);
    if (Date.now() - (statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? 0) > KEPT_MS)
      rmSync(old, { recursive: true, force: true });
  }
  const making = join(CACHE, `making-${process.pid}`);
  // types are checked by who checks types
  const status = emit(join(making, "dist"), "--noCheck", "--declaration", "false");
  if (status !== 0) throw new Error(`tsc ended with ${status}`);
  cpSync(join(ROOT, "package.json"), join(making, "package.json"));
  // where commands look for it; the last lines of the real one, which itself looks for the copy of the project that it is called in
  const start = `import { main } from "../dist/src/cli/main.js";\nprocess.exitCode = await main(process.argv.slice(2));\n`;
  mkdirSync(join(making, "bin"));
  writeFileSync(join(making, "bin", "corral.js"), start);
  try {
    renameSync(making, folder);
  } catch (error) {
    // another worker was faster
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
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

/** Imports of sources, and of the package, become imports of the build; the rest is bundled. */
const onTheBuild: Plugin = {
  name: "on-the-build",
  setup({ onResolve }) {
    onResolve({ filter: /^(\.|corral$)/ }, ({ path, resolveDir }) => {
      const url = builtUrl(path === "corral" ? join(ROOT, "src/index.ts") : join(resolveDir, path));
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
