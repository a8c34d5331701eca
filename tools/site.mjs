/** Builds the demo site into site/dist: static files, to be served by anything. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildBrowser, mujocoWasm } from "./browser-bundle.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Files of the site by path; bytes or texts. */
export async function buildSite() {
  const { files } = await buildBrowser({
    entries: Object.fromEntries(["site", "worker", "picture"].map((name) => [name, join(root, "site", `${name}.ts`)])),
  });
  const read = (...path) => readFileSync(join(root, ...path));
  // the site has no page of the library's own
  const { "corral.js": _, ...needed } = files;
  const picture = read("viewer", "index.html").toString().replace("page.js", "picture.js");
  const policies = [0, 100_000, 200_000, 400_000, 1_000_000].map((steps) => `policies/ant-${steps}.safetensors`);
  return {
    ...needed,
    "index.html": read("site", "index.html"),
    "site.css": read("site", "site.css"),
    "picture.html": picture,
    "style.css": read("viewer", "style.css"),
    ...Object.fromEntries(policies.map((file) => [file, read("site", file)])),
    "mujoco.wasm": readFileSync(mujocoWasm()),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const out = join(root, "site", "dist");
  rmSync(out, { recursive: true, force: true });
  const files = await buildSite();
  for (const [name, content] of Object.entries(files)) {
    const file = join(out, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  console.log(`${Object.keys(files).length} files in site/dist: serve them, such as with npx http-server site/dist`);
}
