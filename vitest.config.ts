import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// `--mode full` also runs the tests that take long: they look at CORRAL_FULL
export default defineConfig(({ mode }) => ({
  test: {
    include: ["test/**/*.test.ts"],
    // a driver that crashes takes one file down, not the run
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
    env: {
      // crashes that tests plant are no one's
      CORRAL_BUNDLES: join(tmpdir(), `corral-test-bundles-${process.pid}`),
      // models are compiled by MuJoCo, not remembered
      CORRAL_MODEL_CACHE: "off",
      ...(mode === "full" ? { CORRAL_FULL: "1" } : {}),
    },
  },
}));
