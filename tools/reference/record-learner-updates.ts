// Records what others make of some updates, for test/oracle/learner-updates.test.ts.
// Run: npx tsx tools/reference/record-learner-updates.ts PYTHON [dqn|sac-discrete|ppo ...], which has
// tools/reference/requirements.txt, and rsl-rl-lib for PPO
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LEARNER_UPDATES } from "../../test/support/learner-updates.ts";

const [python = "python3", ...wanted] = process.argv.slice(2);
for (const [algo, { make, script }] of Object.entries(LEARNER_UPDATES)) {
  if (wanted.length > 0 && !wanted.includes(algo)) continue;
  const updates = await make();
  const path = fileURLToPath(new URL(script, import.meta.url));
  const text = execFileSync(python, [path], { input: JSON.stringify(updates.input), encoding: "utf8" });
  await updates.close();
  // as many digits as float32 has
  const rounded = JSON.stringify(JSON.parse(text), (_, x: unknown) =>
    typeof x === "number" ? Number(x.toPrecision(9)) : x,
  );
  writeFileSync(new URL(`../../test/fixtures/learners/${algo}.json`, import.meta.url), `${rounded}\n`);
}
