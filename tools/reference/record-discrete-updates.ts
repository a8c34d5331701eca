// Records what others make of some updates over discrete actions, for test/oracle/discrete-updates.test.ts.
// Run: npx tsx tools/reference/record-discrete-updates.ts PYTHON, which has tools/reference/requirements.txt
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DISCRETE_UPDATES } from "../../test/support/discrete-updates.ts";

const [python = "python3"] = process.argv.slice(2);
const script = fileURLToPath(new URL("discrete_updates.py", import.meta.url));
for (const [algo, make] of Object.entries(DISCRETE_UPDATES)) {
  const updates = await make();
  const text = execFileSync(python, [script], { input: JSON.stringify(updates.input), encoding: "utf8" });
  await updates.close();
  // as many digits as float32 has
  const rounded = JSON.stringify(JSON.parse(text), (_, x: unknown) =>
    typeof x === "number" ? Number(x.toPrecision(9)) : x,
  );
  writeFileSync(new URL(`../../test/fixtures/sb3/${algo}-updates.json`, import.meta.url), `${rounded}\n`);
}
