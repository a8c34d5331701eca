// files run one after another in a process that they share: each finds the environment as the first one did
import { afterAll, vi } from "vitest";

const found = { ...process.env };

afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  for (const name of Object.keys(process.env)) if (!(name in found)) delete process.env[name];
  Object.assign(process.env, found);
});
