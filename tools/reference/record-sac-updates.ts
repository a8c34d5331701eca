// Records what Stable-Baselines3 makes of some updates of SAC, for test/oracle/sac-updates.test.ts.
// Run: npx tsx tools/reference/record-sac-updates.ts PYTHON, which has tools/reference/requirements.txt
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inputOf, makeUpdates } from "../../test/support/sac-updates.ts";

const [python = "python3"] = process.argv.slice(2);
const made = await makeUpdates();
const script = fileURLToPath(new URL("sb3_updates.py", import.meta.url));
const input = JSON.stringify(inputOf(made));
await made.learner.close();
const text = execFileSync(python, [script], { input, encoding: "utf8" });
const folder = new URL("../../test/fixtures/sb3/", import.meta.url);
mkdirSync(folder, { recursive: true });
// as many digits as float32 has
const rounded = JSON.stringify(JSON.parse(text), (_, x: unknown) =>
  typeof x === "number" ? Number(x.toPrecision(9)) : x,
);
writeFileSync(new URL("sac-updates.json", folder), `${rounded}\n`);
