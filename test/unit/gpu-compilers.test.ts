// what compilers for GPUs say of kernels does not get worse unseen: live and spilled registers, scratch, code size.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { learnerKernels, stepKernels } from "../../tools/gpu-compilers/kernels.ts";
import { reasonFor } from "../../tools/gpu-compilers/reasons.ts";
import { overBounds, page } from "../../tools/gpu-compilers/summary.ts";
import { growth, install, isInstalled, measure, type Measured, type Row } from "../../tools/gpu-compilers/measure.ts";

const RESULTS = new URL("../../bench/results/gpu-compilers.json", import.meta.url);
const results = JSON.parse(readFileSync(RESULTS, "utf8")) as Measured;
/** Why the compilers are not here; 90 MB of downloads are for all tests alone. */
const missing =
  process.env.CORRAL_FULL === "1"
    ? install()
    : isInstalled()
      ? undefined
      : "npm run test:full unpacks them, or bash tools/gpu-compilers/install.sh .cache/gpu-compilers";
if (missing !== undefined) console.log(`kernels are not held to what compilers for GPUs said of them: ${missing}`);

/** Those that take most of an update. */
const LEARNER = [
  "learner.forward",
  "learner.backward",
  "learner.gradient",
  "learner.act_gaussian",
  "learner.loss_gaussian",
];

const row = (name: string, code: number, spilled = 0): Row => ({
  name,
  amd: { live: 100, spilled, scratch: 0, code, throughput: 1, latency: 1, seconds: 1 },
  nvidia: { registers: 255, spilled: 0, stack: 0, code, seconds: 1 },
});
const measured = (...rows: Row[]): Measured => ({ amd: "a", nvidia: "n", rows });

describe("growth", () => {
  test("is told beyond 5 %, and from nothing", () => {
    const before = measured(row("one", 1000), row("two", 1000));
    expect(growth(before, measured(row("one", 1050), row("two", 900)))).toEqual([]);
    expect(growth(before, measured(row("one", 1051)))).toEqual([
      "one, amd: code was 1000, is 1051",
      "one, nvidia: code was 1000, is 1051",
    ]);
    expect(growth(before, measured(row("two", 1000, 1)))).toEqual(["two, amd: spilled was 0, is 1"]);
  });

  test("is not told of kernels that are new, nor of another compiler", () => {
    const before = measured(row("one", 1000));
    expect(growth(before, measured(row("three", 9000)))).toEqual([]);
    expect(growth(before, { ...measured(row("one", 9000)), amd: "b", nvidia: "m" })).toEqual([]);
  });
});

test("the reason of a kernel without registers says whether it spills", () => {
  const over = (spilled: number): Row => {
    const { amd, ...one } = row("Some 2 solver", 1000, spilled);
    return { ...one, amd: { ...amd!, live: 300 } };
  };
  expect(reasonFor(row("Some 2 solver", 90_000))).not.toContain("egisters");
  expect(reasonFor(over(0))).toContain("none is spilled");
  expect(reasonFor(over(9))).toContain("is not known");
});

test("the page of results is that of the numbers, with a reason for each kernel over a bound", () => {
  const written = readFileSync(new URL("gpu-compilers.md", RESULTS), "utf8");
  expect(written, "run npx tsx tools/gpu-compilers --write bench/results/gpu-compilers").toBe(page(results));
  const over = overBounds(results.rows);
  expect(over.map(({ name }) => name)).toContain("Humanoid-v5 3 solver");
  expect(over.filter((one) => reasonFor(one) === undefined)).toEqual([]);
});

describe.skipIf(missing !== undefined)("compilers for GPUs", () => {
  // lavapipe's own compiler computes some of Hopper's sums in another order where they are in pieces
  test.runIf(process.env.CORRAL_FULL === "1")("pieces on lavapipe have the bits of the whole, in its order", () => {
    const tool = fileURLToPath(new URL("../../tools/gpu-compilers/bits.ts", import.meta.url));
    const args = ["--import", "tsx", tool, "--exact", "--forms", "cut,few", "Hopper-v5"];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stdout.match(/\| yes \|/g), stdout).toHaveLength(2);
    expect(status).toBe(0);
  });

  test("step kernels and the learner's largest have not grown", async () => {
    // HalfCheetah's have the parts of Hopper's, and Ant's take as long as all the others
    const names = ["Hopper-v5", ...(process.env.CORRAL_FULL === "1" ? ["HalfCheetah-v5", "Ant-v5"] : [])];
    const steps = await Promise.all(names.map((name) => stepKernels(name, name)));
    const learner = Object.entries(learnerKernels()).filter(([name]) => LEARNER.includes(name));
    expect(learner).toHaveLength(LEARNER.length);
    const now = measure(Object.assign({}, ...steps, Object.fromEntries(learner)));
    if (now.amd !== results.amd) console.log(`not compared: ${now.amd} is not ${results.amd}`);
    if (now.nvidia !== results.nvidia) console.log(`not compared: ${now.nvidia} is not ${results.nvidia}`);
    expect(growth(results, now)).toEqual([]);
  });
});
