/** Builds the script of the viewer's page. */

import { build } from "esbuild";

/** The text of one module that imports nothing. */
export async function buildPage(entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "inline",
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0].text;
}
