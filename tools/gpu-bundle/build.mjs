/**
 * Packs Node, the built project with what it needs at run time, a Vulkan loader and the peers into one archive that runs on
 * a bare Linux machine with an NVIDIA driver and no network. Run with --help.
 */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliDecompressSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const LIMIT = 60e6;

const HELP = `
Usage: node tools/gpu-bundle/build.mjs [--out FILE] [--python-version 3.12] [--pip COMMAND] [--no-peers]
                                        [--robot MODEL.xml ...]

Writes an archive (corral-gpu.tar.xz) of Node, Dawn, a Vulkan loader, the built project, the embedded software driver,
the models of the tests, and of the peers native MuJoCo, MJX, Brax and NumPy as Python packages. JAX with CUDA is too
large to come along: it is used where the machine has it. On the other machine:

  tar -xJf corral-gpu.tar.xz && corral-gpu/run.sh

  --out FILE               the archive (corral-gpu.tar.xz)
  --python-version X.Y     the Python of the other machine, for which peers are packed (3.12)
  --pip COMMAND            the pip that downloads them (python3 -m pip)
  --no-peers               without them
  --robot FILE             an MJCF file that is measured beside the environments, with all that it names; may be repeated

Needs tar, xz and strip; linux-x64 only. Fails where the archive is over 60 MB.
`;

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "corral-gpu.tar.xz" },
    "python-version": { type: "string", default: "3.12" },
    pip: { type: "string", default: "python3 -m pip" },
    "no-peers": { type: "boolean", default: false },
    robot: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP.trimStart());
  process.exit(0);
}
if (process.platform !== "linux" || process.arch !== "x64") fail("the bundle is built on linux-x64.");

const work = mkdtempSync(join(tmpdir(), "corral-gpu-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const bundle = join(work, "corral-gpu");

say("building the project");
run(process.execPath, [join(root, "tools", "build.mjs")]);
for (const name of ["package.json", "LICENSE"]) copy(name);
for (const name of ["bin", "dist"]) copy(name);
copy("test/models", "models", (path) => extname(path) === ".xml");
for (const name of ["native_rollout.py", "jax_rollout.py", "warp_rollout.py", "peer_rates.py"])
  copy(`tools/reference/${name}`);
mkdirSync(join(bundle, "robots"));
for (const file of values.robot) await packRobot(resolve(file));
copyFileSync(join(here, "run.sh"), join(bundle, "run.sh"));
copyFileSync(join(here, "checks.mjs"), join(bundle, "checks.mjs"));
chmodSync(join(bundle, "run.sh"), 0o755);

say("Node and the packages");
mkdirSync(join(bundle, "node", "bin"), { recursive: true });
copyFileSync(realpathSync(process.execPath), join(bundle, "node", "bin", "node"));
strip(join(bundle, "node", "bin", "node"));
for (const name of productionPackages()) copyPackage(name);
strip(join(bundle, "node_modules", "webgpu", "dist", "linux-x64", "dawn.node"));
copyEmbedded();

say("the Vulkan loader, and the libraries that NVIDIA's driver is linked with or opens");
const LOADER = "libvulkan.so.1";
const LIBRARIES = [
  LOADER,
  "libEGL.so.1",
  "libGLdispatch.so.0",
  "libX11.so.6",
  "libXext.so.6",
  "libxcb.so.1",
  "libXau.so.6",
];
for (const name of [...LIBRARIES, "libXdmcp.so.6", "libbsd.so.0", "libmd.so.0"]) copyLibrary(name);
if (!existsSync(join(bundle, "lib", LOADER))) copyEmbeddedLoader();

if (!values["no-peers"]) packPeers();

say("the archive");
const out = resolve(values.out);
run("tar", ["-C", work, "--owner=0", "--group=0", "-cf", join(work, "bundle.tar"), "corral-gpu"]);
run("xz", ["-T0", "-7", "-f", join(work, "bundle.tar")]);
copyFileSync(join(work, "bundle.tar.xz"), out);
const size = statSync(out).size;
say(`${out}: ${(size / 1e6).toFixed(1)} MB`);
if (size > LIMIT) fail(`the archive is over ${LIMIT / 1e6} MB.`);

function copy(from, to = from, filter = () => true) {
  const source = join(root, from);
  if (!existsSync(source)) return;
  cpSync(source, join(bundle, to), {
    recursive: true,
    filter: (path) =>
      !path.endsWith(".map") && !path.endsWith(".d.ts") && (statSync(path).isDirectory() || filter(path)),
  });
}

/** A model with its assets, and the name of its file in model.txt. */
async function packRobot(path) {
  const { loadModel } = await import(join(root, "dist", "src", "index.js"));
  const { source } = await loadModel(path);
  const folder = join(bundle, "robots", `${readdirSync(join(bundle, "robots")).length}-${basename(path, ".xml")}`);
  for (const [name, data] of [
    ...Object.entries(source.assets),
    [source.file, source.xml],
    ["model.txt", source.file],
  ]) {
    const file = join(folder, name);
    if (relative(folder, file).startsWith("..")) fail(`${path} names ${name}, which is outside of its folder.`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, data);
  }
}

/** The dependencies, and theirs, as far as they are installed. */
function productionPackages() {
  const names = new Set();
  const visit = (name) => {
    const file = join(root, "node_modules", name, "package.json");
    if (names.has(name) || !existsSync(file)) return;
    names.add(name);
    for (const other of Object.keys(JSON.parse(readFileSync(file, "utf8")).dependencies ?? {})) visit(other);
  };
  for (const name of Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies))
    visit(name);
  return names;
}

/** What runs on linux-x64: no other platform's binaries, no maps, no types, no threaded build of MuJoCo. */
function copyPackage(name) {
  const folder = join(root, "node_modules", name);
  cpSync(folder, join(bundle, "node_modules", name), {
    recursive: true,
    filter: (path) => {
      const inside = relative(folder, path);
      if (/\.(map|d\.[cm]?ts|md)$/.test(path)) return false;
      if (name === "webgpu" && /^dist\/(darwin|win32|linux-arm)/.test(inside)) return false;
      if (name === "@mujoco/mujoco" && inside.startsWith("mt")) return false;
      return !inside.includes("node_modules");
    },
  });
}

/** The embedded software driver without the browser around it. */
function copyEmbedded() {
  const from = join(root, "node_modules", "@sparticuz", "chromium");
  const archive = join(from, "bin", "swiftshader.tar.br");
  if (!existsSync(archive)) return;
  const to = join(bundle, "node_modules", "@sparticuz", "chromium");
  mkdirSync(join(to, "bin"), { recursive: true });
  copyFileSync(archive, join(to, "bin", "swiftshader.tar.br"));
  const { name, version, license } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  writeFileSync(join(to, "package.json"), JSON.stringify({ name, version, license, main: "index.js" }));
  writeFileSync(join(to, "index.js"), "");
}

function copyLibrary(name) {
  const folders = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) return say(`  without ${name}, which this machine lacks`);
  mkdirSync(join(bundle, "lib"), { recursive: true });
  copyFileSync(realpathSync(found), join(bundle, "lib", name));
}

/** The loader that comes with the embedded driver: without any, no driver of the other machine is found. */
function copyEmbeddedLoader() {
  const archive = join(bundle, "node_modules", "@sparticuz", "chromium", "bin", "swiftshader.tar.br");
  if (!existsSync(archive)) fail(`no ${LOADER} on this machine, nor an embedded driver: install libvulkan1.`);
  mkdirSync(join(bundle, "lib"), { recursive: true });
  const { status, stderr } = spawnSync("tar", ["-C", join(bundle, "lib"), "-x", LOADER], {
    input: brotliDecompressSync(readFileSync(archive)),
    encoding: "utf8",
  });
  if (status !== 0) fail(`no ${LOADER} on this machine, nor in the embedded driver's archive: ${stderr.trim()}`);
  say(`  ${LOADER} is the embedded driver's`);
}

/** Python packages, unpacked; without viewers, tests and what else no peer needs. */
function packPeers() {
  say(`the peers, for Python ${values["python-version"]}`);
  const mujoco = JSON.parse(readFileSync(join(root, "node_modules/@mujoco/mujoco/package.json"), "utf8")).version;
  const wheels = join(work, "wheels");
  const [pip, ...args] = values.pip.split(" ");
  const platform = [
    "--only-binary=:all:",
    "--platform",
    "manylinux_2_28_x86_64",
    "--platform",
    "manylinux_2_27_x86_64",
  ];
  const version = ["--python-version", values["python-version"]];
  const names = [
    `mujoco==${mujoco}`,
    `mujoco-mjx==${mujoco}`,
    "brax",
    "numpy",
    "etils",
    "absl-py",
    "ml_collections",
    "pyyaml",
  ];
  const theirs = ["typing_extensions", "importlib_resources", "zipp", "fsspec"];
  run(pip, [...args, "download", "-q", "--no-deps", ...platform, ...version, "-d", wheels, ...names, ...theirs]);
  const unwanted =
    /(^|\/)(tests?|testing|test_data|include|experimental|__pycache__)\/|_render_filament|_simulate|mujoco\/(plugin|viewer)|\.pyi$|third_party\/.*(benchmark|test)/;
  const peers = join(bundle, "peers");
  for (const wheel of readdirSync(wheels)) {
    const listed = run("python3", ["-m", "zipfile", "-l", join(wheels, wheel)], "pipe");
    say(`  ${basename(wheel)}: ${listed.split("\n").length} files`);
    run("python3", ["-m", "zipfile", "-e", join(wheels, wheel), peers]);
  }
  for (const path of readdirSync(peers, { recursive: true, encoding: "utf8" })) {
    const file = join(peers, path);
    if (!existsSync(file)) continue;
    const folder = statSync(file).isDirectory() ? "/" : "";
    // libraries in wheels were patched in ways that strip does not understand
    if (unwanted.test(`${path}${folder}`) && !/numpy\/(testing|_core\/tests\/_natype)/.test(path))
      rmSync(file, { recursive: true });
  }
}

function strip(file) {
  if (existsSync(file)) spawnSync("strip", ["--strip-unneeded", file]);
}

function run(command, args, stdout = "inherit") {
  const result = spawnSync(command, args, { stdio: ["ignore", stdout, "inherit"], encoding: "utf8" });
  if (result.error) fail(`${command} cannot be started: ${result.error.message}`);
  if (result.status !== 0) fail(`${command} ${args.join(" ")} ended with ${result.status ?? result.signal}`);
  return result.stdout ?? "";
}

function say(text) {
  process.stderr.write(`gpu-bundle: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
