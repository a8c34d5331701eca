/**
 * The correctness of this machine's driver without a test framework: one step of every model against MuJoCo in float64,
 * and the determinism contract, both with `--device gpu`: where no driver can be used WebAssembly would be checked.
 * Usage: checks.mjs FOLDER [--quick]. Writes FOLDER/checks.json; exits with 1 on a failure.
 */

import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { list, makeVec } = await import(join(here, "dist", "src", "index.js"));
const [out, ...flags] = process.argv.slice(2);
const quick = flags.includes("--quick");
const checks = [];

const models = readdirSync(join(here, "models"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".xml"))
  .map((name) => join(here, "models", name));
const environments = list();
const targets = quick ? [...models.slice(0, 4), environments[0]] : [...models, ...environments];
for (const target of targets) {
  const name = target.replace(`${join(here, "models")}/`, "");
  const args = [join(here, "bin", "corral.js"), "compare", target, "--device", "gpu"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  // what corral does not simulate is refused by name, which is no failure of a driver
  const refused = /\[unsupported-feature\]/.test(stderr);
  report(`compare ${name}`, status === 0 || refused, refused ? "refused: unsupported" : (stdout || stderr).trim());
}

for (const id of quick ? environments.slice(0, 1) : environments) {
  const small = await bits(id, { numEnvs: 8, worldIds: [3, 50, 1, 77, 12, 99, 64, 31] });
  const large = await bits(id, { numEnvs: 128 }, [3, 50, 1, 77, 12, 99, 64, 31]);
  const split = await bits(id, { numEnvs: 128, shards: 3 }, [3, 50, 1, 77, 12, 99, 64, 31]);
  report(`determinism ${id}`, small === large && large === split, `${small} ${large} ${split}`);
}

const failed = checks.filter((check) => !check.ok);
console.log(`${checks.length - failed.length} of ${checks.length} checks passed`);
process.exitCode = failed.length > 0 ? 1 : 0;

function report(what, ok, text) {
  checks.push({ what, ok, text });
  // what was found is kept when time ends
  writeFileSync(join(out, "checks.json"), `${JSON.stringify(checks, undefined, 2)}\n`);
  console.log(`${ok ? "ok  " : "FAIL"} ${what}${ok ? "" : `\n${text}`}`);
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
