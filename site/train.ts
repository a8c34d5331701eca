/** Trains the policies of the demo: Ant-v5 by PPO on wasm, kept as it learns. `npx tsx site/train.ts [STEPS]` */

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exportPolicy, makeVec, Ppo, type PpoOptions } from "../src/index.ts";
import { WALKING } from "../envs/training.ts";

/** Env steps after which the policy is kept. */
const KEPT = [0, 100_000, 200_000, 400_000, 1_000_000];
const SEED = 1;

const folder = fileURLToPath(new URL("./policies/", import.meta.url));
mkdirSync(folder, { recursive: true });
const last = Number(process.argv[2] ?? KEPT.at(-1));
const kept = KEPT.filter((steps) => steps <= last);

await using envs = await makeVec("Ant-v5", { numEnvs: 64, seed: SEED, device: "wasm" });
await using ppo = await Ppo.create(envs, {
  ...(WALKING.config as PpoOptions),
  seed: SEED,
  totalSteps: KEPT.at(-1)!,
});
for (const steps of kept) {
  while (ppo.envSteps < steps) await ppo.iterate();
  await exportPolicy(ppo, { format: "safetensors", to: `${folder}/ant-${steps}.safetensors` });
  console.log(`${steps} env steps are kept`);
}
