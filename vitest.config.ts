import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { embeddedUnsupported } from "./src/gpu/embedded.ts";
import { isSoftware } from "./src/gpu/adapter.ts";
import { missingVulkan } from "./src/gpu/loader.ts";
import { probeSystem } from "./src/gpu/probe.ts";
import { repositoryFiles, ROOT } from "./test/support/imports.ts";
import { LongFirst } from "./test/support/long-first.ts";
import { PATIENCE_MS } from "./test/support/patience.ts";

const FULL_PATIENCE_MS = 3_600_000;

/** The driver that npm installs is the one under test: Vulkan's loader finds no other. */
const EMBEDDED_ALONE = { VK_DRIVER_FILES: "none", VK_ICD_FILENAMES: "none", CORRAL_TEST_ADAPTERS: "embedded" };
/** WGSL is under test unless a test says otherwise. */
const ON_ADAPTERS = { CORRAL_DEVICE: "gpu" };

/** The tests that look at drivers: they run once more with the system's, where it has one. */
const ofDrivers = () =>
  repositoryFiles("test").filter(
    (file) =>
      file.endsWith(".test.ts") &&
      (/gpu|doctor/.test(file) || readFileSync(file, "utf8").includes("softwareAdapters()")),
  );

/** Who chooses an adapter tests that one alone; elsewhere than on linux-x64 there is none but the system's. */
async function projects() {
  const include = ["test/**/*.test.ts"];
  if (process.env.CORRAL_ADAPTER || embeddedUnsupported() !== undefined) return { include };
  const embedded = { extends: true, test: { name: "embedded", include, env: EMBEDDED_ALONE } } as const;
  const names = missingVulkan() === undefined ? (await probeSystem()).adapters : [];
  if (!names.some(isSoftware)) return { projects: [embedded] };
  const env = { CORRAL_TEST_ADAPTERS: "system" };
  return { projects: [embedded, { extends: true, test: { name: "system", include: ofDrivers(), env } } as const] };
}

// `--mode full` also runs the tests that take long: they look at CORRAL_FULL
export default defineConfig(async ({ mode }) => ({
  // threads begin from what the build makes
  resolve: { alias: [{ find: /^\.\.\/core\/worker\.ts$/, replacement: join(ROOT, "test/support/worker.ts") }] },
  test: {
    ...(await projects()),
    setupFiles: ["test/support/fast-modules.ts", "test/support/fast-check.ts", "test/support/as-found.ts"],
    // a driver that crashes takes one file down, not the run: the next one begins another process
    pool: "forks",
    // files share processes: to load the sources, compile MuJoCo and warm up takes each 1.5 s. A file that counts what its
    // process has, or replaces a module that others have loaded, has one alone by its own @vitest-environment-options
    isolate: false,
    maxWorkers: 2,
    // traces outlive a nursery of 16 MiB, which copies them
    execArgv: ["--max-semi-space-size=64", "--min-semi-space-size=32"],
    sequence: { sequencer: LongFirst },
    testTimeout: mode === "full" ? FULL_PATIENCE_MS : PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    teardownTimeout: PATIENCE_MS,
    env: {
      ...ON_ADAPTERS,
      // crashes that tests plant are no one's
      CORRAL_BUNDLES: join(tmpdir(), `corral-test-bundles-${process.pid}`),
      // models are compiled by MuJoCo, not remembered
      CORRAL_MODEL_CACHE: "off",
      ...(mode === "full" ? { CORRAL_FULL: "1" } : {}),
    },
  },
}));
