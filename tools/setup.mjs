/**
 * Installs the dependencies when they are absent or older than the lock file. Runs before the npm scripts, so that a
 * fresh clone needs no other command. Plain Node, no dependencies.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST = [20, 19];
const LOCK_PATIENCE_MS = 10 * 60_000;

// npm writes its record and the lock file within one run, in either order
const SAME_RUN_MS = 5_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const stamp = join(modules, ".corral-setup");
const lock = join(root, ".setup.lock");

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  fail(`corral needs Node ${OLDEST.join(".")} or newer; this is ${process.versions.node}.`);
}

if (!upToDate()) withLock(install);

/** What node_modules must have been installed from. */
function wanted() {
  const hash = createHash("sha256");
  for (const name of ["package.json", "package-lock.json"]) hash.update(dependenciesOf(name));
  return hash.digest("hex");
}

// scripts and descriptions in package.json change without need of an installation
function dependenciesOf(name) {
  const text = readFileSync(join(root, name), "utf8");
  if (name === "package-lock.json") return text;
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(text);
  return JSON.stringify({ dependencies, devDependencies, optionalDependencies });
}

function upToDate() {
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted()) return true;

  // installed by hand: npm's own record of what it did, as new as the lock file
  const record = join(modules, ".package-lock.json");
  return (
    existsSync(record) && statSync(record).mtimeMs + SAME_RUN_MS >= statSync(join(root, "package-lock.json")).mtimeMs
  );
}

function install() {
  if (upToDate()) return;
  const why = existsSync(modules) ? "the lock file changed" : "first run";
  process.stderr.write(`corral: installing dependencies (${why}) ...\n`);

  // npm names its own entry to the scripts it runs: no shell, no search of the path
  const npm = process.env.npm_execpath;
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: root, stdio: ["ignore", 2, 2], env: environment() };
  const result =
    npm && /\.c?js$/.test(npm)
      ? spawnSync(process.execPath, [npm, ...args], options)
      : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (result.error) fail(`npm could not be started: ${result.error.message}. Install npm and run: npm ci`);
  if (result.status !== 0)
    fail(`npm ci failed (exit status ${result.status ?? result.signal}); its messages are above.`);
  mkdirSync(modules, { recursive: true });
  writeFileSync(stamp, wanted());
}

// development dependencies are needed whatever the outer npm was told
function environment() {
  const env = { ...process.env };
  delete env.NODE_ENV;
  for (const name of Object.keys(env))
    if (/^npm_config_(omit|production|only|include|global)$/i.test(name)) delete env[name];
  return env;
}

/** Two scripts at once must not install over each other. */
function withLock(action) {
  const started = Date.now();
  while (!taken()) {
    if (Date.now() - started > LOCK_PATIENCE_MS) fail("another set-up holds .setup.lock; delete it if none runs.");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  process.on("exit", () => rmSync(lock, { force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  action();
}

function taken() {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") fail(`cannot write ${lock}: ${error.message}`);
  }
  if (!holderAlive()) rmSync(lock, { force: true });
  return false;
}

// whoever holds the lock may have been killed
function holderAlive() {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function fail(text) {
  process.stderr.write(`corral: ${text}\n`);
  process.exit(1);
}
