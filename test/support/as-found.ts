// files run one after another in a process that they share: each finds the environment as the first one did
import { afterAll, vi } from "vitest";
import { hostBudget } from "../../src/memory/host-budget.ts";

const found = { ...process.env };
const { limit, source } = hostBudget();

afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  hostBudget().change({ limit, source });
  for (const name of Object.keys(process.env)) if (!(name in found)) delete process.env[name];
  Object.assign(process.env, found);
});
