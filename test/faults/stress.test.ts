// `corral stress` as users run it: real allocation until the budget or the driver refuses, in a process that may die
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { StressEvent, StressRefusal, StressRow } from "../../src/sizing/stress.ts";
import { type StressReport, stressPage, stressReport, stressVerdict } from "../../src/sizing/stress-report.ts";
import { builtCorral, builtUrl } from "../support/built.ts";
import { corral } from "../support/cli.ts";
import { corralInside } from "../support/cli-inside.ts";
import { ROOT } from "../support/imports.ts";
import { hasPrlimit } from "../support/prlimit.ts";
import { softwareAdapters } from "../support/software-adapters.ts";

const adapters = await softwareAdapters();
const quickly = ["--seconds", "0.05", "--json"];

async function stress(...args: string[]): Promise<{ code: number | null; report: StressReport; stderr: string }> {
  const { code, stdout, stderr } = await corral(["stress", "CartPole", ...quickly, ...args]);
  return { code, report: JSON.parse(stdout) as StressReport, stderr };
}

test("without an adapter the budget of the host refuses, and all else is as before; the program may be another", async () => {
  const args = ["--device", "wasm", "--threads", "1", "--budget", "8MiB", "--from", "1024", "--factor", "8"];
  const { code, stdout } = await corralInside(["stress", "CartPole", ...quickly, ...args]);
  const report = JSON.parse(stdout) as StressReport;
  expect([code, report.failures, report.adapter]).toEqual([0, [], "wasm"]);
  expect(report.refusals).toMatchObject([{ code: "budget-exceeded", limit: "budget", referenceUnchanged: true }]);
  expect(report.rows.at(-1)!.numEnvs).toBe(report.refusals[0].largestNumEnvs);
});

test("a task file is the child's too; a first count above the last is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-stress-"));
  const file = join(folder, "hang.mjs");
  const corralModule = builtUrl(join(ROOT, "src/index.ts"));
  const model =
    '<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>';
  const text = `import { defineTask } from "${corralModule}";
export default defineTask({ id: "Hang", frameSkip: 2, maxEpisodeSteps: 100, model: \`${model}\`, observe: { qpos: "qpos" }, reward: { still: "-qvel[0] * qvel[0]" } });`;
  try {
    writeFileSync(file, text);
    const args = ["stress", file, "--device", "wasm", "--threads", "1", "--from", "8", "--seconds", "0.05", "--json"];
    const { code, stdout } = await corral([...args, "--most", "8"]);
    const report = JSON.parse(stdout) as StressReport;
    expect([code, report.name, report.rows.map(({ numEnvs }) => numEnvs)]).toEqual([0, "Hang", [8]]);
    // in a process of its own too: a copy of corral that is loaded here stays
    const wrong = await corral([...args, "--most", "4"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      "[usage] --from is '8', above --most, which is '4': no batch would be made.\n",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the process of its own ends with the one that asked, and says nothing", async () => {
  const args = [
    "stress",
    "CartPole",
    "--device",
    "wasm",
    "--threads",
    "1",
    "--from",
    "8",
    "--most",
    "64",
    "--seconds",
    "0.3",
  ];
  const asking = spawn(process.execPath, [builtCorral(), ...args], { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  asking.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
    if (stderr.includes("worlds:")) asking.kill("SIGKILL");
  });
  // both have stderr: it closes with the last of them
  await new Promise((resolve) => void asking.on("close", resolve));
  expect(stderr).toMatch(/^(\d+ worlds: [^\n]*\n)+$/);
});

describe.each(adapters)("corral stress on the %s adapter", (adapter) => {
  test("raises worlds until the budget refuses, then makes the most that fit", async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-stress-"));
    const html = join(folder, "report.html");
    try {
      const args = ["--adapter", adapter, "--budget", "32MiB", "--from", "1024", "--factor", "8", "--html", html];
      const { code, report } = await stress(...args);
      expect([code, report.failures]).toEqual([0, []]);
      expect(report.budget).toEqual({ limit: 32 * 2 ** 20, source: "the option" });
      const [refusal] = report.refusals;
      expect(refusal).toMatchObject({
        numEnvs: 65536,
        code: "budget-exceeded",
        limit: "budget",
        referenceUnchanged: true,
      });
      expect(report.rows.map(({ numEnvs }) => numEnvs)).toEqual([1024, 8192, refusal.largestNumEnvs]);
      expect(report.rows[2].bytes + report.reference.bytes).toBeLessThanOrEqual(report.budget.limit);
      for (const row of report.rows) expect(row.envStepsPerSec).toBeGreaterThan(0);

      const page = readFileSync(html, "utf8");
      expect(page.match(/<svg /g)).toHaveLength(3);
      expect(page).toContain("[budget-exceeded] CartPole with 65,536 worlds needs");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.runIf(hasPrlimit())("outlives memory that ends: by the budget, or by the driver's refusal", async () => {
    const args = ["--adapter", adapter, "--until", "OOM", "--memory", "400MiB", "--from", "4096", "--factor", "16"];
    const { code, report } = await stress(...args);
    expect([code, report.failures]).toEqual([0, []]);
    const [refusal] = report.refusals;
    if (/llvmpipe/.test(report.adapter)) {
      expect(refusal.limit).toBe("budget");
      expect(report.budget.source).toMatch(/^40 % of address space limit/);
    } else {
      // ten constructions follow: what was made before the refusal is back
      expect(refusal).toMatchObject({ limit: "driver", code: "allocation-refused" });
      expect(report.rows.filter(({ numEnvs }) => numEnvs === 4096)).toHaveLength(11);
    }
  });
});

describe("the report", () => {
  const row: StressRow = {
    numEnvs: 64,
    bytes: 1000,
    bytesPerEnv: 16,
    shards: 1,
    constructMs: 10,
    envStepsPerSec: 1e6,
    physicsStepsPerSec: 1e6,
    residentBytes: 2 ** 28,
  };
  const refusal: StressRefusal = {
    numEnvs: 128,
    bytes: 2000,
    code: "budget-exceeded",
    limit: "budget",
    message: "[budget-exceeded] <too> much",
    largestNumEnvs: 64,
    milliseconds: 1,
    liveBefore: 10,
    liveAfter: 10,
    referenceUnchanged: true,
  };
  const machine = { cpu: "a", cores: 2, memory: 1, platform: "b", node: "c", driver: "d" };
  const budget = { limit: 1024, source: "a test" };
  const start: StressEvent = {
    kind: "start",
    start: { name: "x", adapter: "d", machine, budget, reference: { numEnvs: 64, bytes: 10 }, frameSkip: 1 },
  };
  const events = (...rest: StressEvent[]): StressEvent[] => [
    start,
    { kind: "trying", numEnvs: 64, why: "growth" },
    { kind: "row", row },
    ...rest,
  ];
  const end: StressEvent = { kind: "end", liveAtEnd: 0 };

  test("says what ended the growth", () => {
    const report = stressReport(events({ kind: "refusal", refusal }, end), null)!;
    expect(stressVerdict(report)).toMatchInlineSnapshot(
      `"128 worlds refused by budget (budget-exceeded), bytes and bits of everything else as before after it"`,
    );
    expect(stressPage(report)).toContain("&lt;too&gt; much");
    expect(stressVerdict(stressReport(events(end), null)!)).toBe("nothing refused 64 worlds");
  });

  test.each<[string, StressEvent[], { signal: string | null; code: number | null } | null]>([
    ["the process died (signal SIGSEGV) with 64 worlds", events(), { signal: "SIGSEGV", code: null }],
    ["the process died (exit code 1) with 64 worlds", events(), { signal: null, code: 1 }],
    [
      "12 B are held after 128 worlds were refused, 10 B before",
      events({ kind: "refusal", refusal: { ...refusal, liveAfter: 12 } }, end),
      null,
    ],
    [
      "the other batch has other bits after 128 worlds were refused",
      events({ kind: "refusal", refusal: { ...refusal, referenceUnchanged: false } }, end),
      null,
    ],
    ["16 bytes are held at the end", events({ kind: "end", liveAtEnd: 16 }), null],
  ])("fails where %s", (failure, told, death) => {
    const report = stressReport(told, death)!;
    expect(report.failures).toEqual([failure]);
    expect(stressVerdict(report)).toBe(`FAILED: ${failure}`);
    expect(stressPage(report)).toContain(`FAILED: ${failure}`);
  });

  test("is none where the run did not start", () => {
    expect(stressReport([], { signal: null, code: 2 })).toBeUndefined();
  });
});

test.each([
  [["stress"], "ENV_OR_MODEL is missing"],
  [["stress", "CartPol"], "nearest: CartPole"],
  [["stress", "CartPole", "--factor", "1"], "--factor is '1'"],
  [["stress", "CartPole", "--until", "never"], "--until is 'never'"],
  [["stress", "CartPole", "--budget", "-1GiB"], "--budget=VALUE"],
])("%j is bad usage", async (args, text) => {
  const { code, stdout, stderr } = await corralInside(args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(text);
});

test.each([
  [["stress", "CartPole", "--budget", "2 gigs"], '[bad-bytes] budget is "2 gigs"'],
  [["stress", "CartPole", "--adapter", "embedded", "--until", "OOM"], "Pass --memory"],
  [["stress", "CartPole", "--until", "OOM", "--memory", "1"], '[bad-option] memory is "1"; pass at least 16MiB'],
])("%j is bad usage, which the child says", async (args, text) => {
  const { code, stdout, stderr } = await corral(args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(text);
});
