/**
 * The correctness of this machine's driver without a test framework: one step of every model against MuJoCo in float64,
 * and the determinism contract, both with `--device gpu`: where no driver can be used WebAssembly would be checked.
 * Usage: checks.mjs FOLDER [--quick]. Writes FOLDER/checks.json; exits with 1 on a failure.
 */

import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(import.meta.url);
const here = dirname(script);
const { list, makeVec } = await import(join(here, "dist", "src", "index.js"));
const [out, ...flags] = process.argv.slice(2);
if (out === "--bits") {
  await determinism(flags[0]);
  process.exit();
}

const quick = flags.includes("--quick");
const models = readdirSync(join(here, "models"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".xml"))
  .map((name) => join(here, "models", name));
// the largest kernels compile longest: environments first
const environments = list();
const chosen = quick ? environments.slice(0, 1) : environments;
const jobs = [
  ...chosen.map((id) => ({ what: `determinism ${id}`, args: [script, "--bits", id] })),
  ...[...chosen, ...(quick ? models.slice(0, 4) : models)].map((target) => ({
    what: `compare ${target.replace(`${join(here, "models")}/`, "")}`,
    args: [join(here, "bin", "corral.js"), "compare", target, "--device", "gpu"],
  })),
];
const checks = [];
await Promise.all(Array.from({ length: Math.max(1, availableParallelism() - 1) }, work));
const failed = checks.filter((check) => !check.ok);
console.log(`${checks.length - failed.length} of ${checks.length} checks passed`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** Takes jobs as long as there are any; several go on at once, since most of each is compiling on a core. */
async function work() {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const begin = performance.now();
    const { status, stdout, stderr } = await run(job.args);
    // what corral does not simulate is refused by name, which is no failure of a driver
    const refused = /\[unsupported-feature\]/.test(stderr);
    const text = refused ? "refused: unsupported" : (stdout || stderr).trim();
    checks.push({ what: job.what, ok: status === 0 || refused, seconds: (performance.now() - begin) / 1000, text });
    // what was found is kept when time ends
    writeFileSync(join(out, "checks.json"), `${JSON.stringify(checks, undefined, 2)}\n`);
    const { ok } = checks.at(-1);
    console.log(`${ok ? "ok  " : "FAIL"} ${job.what}${ok ? "" : `\n${text || `ended with ${status}`}`}`);
  }
}

function run(args) {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"])
      child[name].setEncoding("utf8").on("data", (text) => {
        texts[name] += text;
      });
    child.on("close", (code, signal) => done({ status: code ?? signal, ...texts }));
  });
}

/** Prints hashes of what eight worlds return: alone, in a batch of 128, and in one of several shards. Exits with 1 where they differ. */
async function determinism(id) {
  const worldIds = [3, 50, 1, 77, 12, 99, 64, 31];
  const small = await bits(id, { numEnvs: 8, worldIds });
  const large = await bits(id, { numEnvs: 128 }, worldIds);
  const split = await bits(id, { numEnvs: 128, shards: 3 }, worldIds);
  console.log(`${small} ${large} ${split}`);
  process.exitCode = small === large && large === split ? 0 : 1;
}

/** A hash of what chosen worlds return over some control steps; actions are those of their world ids. */
async function bits(id, options, rows) {
  const envs = await makeVec(id, { ...options, seed: 5, device: "gpu" });
  const hash = createHash("sha256");
  try {
    await envs.reset({ seed: 5 });
    for (let t = 0; t < 30; t++) {
      const { observations, rewards } = await envs.step(
        envs.actionSpace.sample(7, { draw: t, worldIds: options.worldIds ?? envs.worldIds }),
      );
      const width = observations.length / envs.numEnvs;
      for (const row of rows ?? envs.worldIds.keys()) {
        const of = observations.subarray(row * width, (row + 1) * width);
        hash.update(new Uint8Array(of.slice().buffer)).update(new Uint8Array(rewards.slice(row, row + 1).buffer));
      }
    }
  } finally {
    await envs.close();
  }
  return hash.digest("hex").slice(0, 16);
}
