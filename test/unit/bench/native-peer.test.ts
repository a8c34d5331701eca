// peers in Python: native MuJoCo of the WebAssembly's version, or not measured; MJX, Brax and MuJoCo Warp in one table
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { nativePeer, together, type JaxPeer, type PythonSetup } from "../../../src/bench/python-peer.ts";
import { overview, peersOf, type Bench } from "../../../src/bench/report.ts";
import { packageVersion } from "../../../src/core/version.ts";
import { loadTestModel } from "../../support/mjcf.ts";

const folder = mkdtempSync(join(tmpdir(), "corral-native-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A "Python" whose native MuJoCo is of a version. */
async function pythonWith(mujoco: string): Promise<PythonSetup> {
  const python = join(folder, `python-${mujoco}`);
  writeFileSync(python, `#!/bin/sh\ncat >/dev/null\necho '{"mujoco": "${mujoco}", "rows": []}'\n`);
  chmodSync(python, 0o755);
  const none = new Float64Array();
  const counts = { frameSkip: 1, phases: 1, episodeSteps: 1, seconds: 1, repetitions: 1, seed: 0 };
  return { python, env: "x", model: await loadTestModel("joint_hinge"), starts: none, controls: none, ...counts };
}

test.skipIf(process.platform === "win32")("another version is not measured, and says which to install", async () => {
  const pinned = packageVersion("@mujoco/mujoco");
  expect(await nativePeer(await pythonWith(pinned), () => {})).toEqual({ mujoco: pinned, rows: [] });
  expect(await nativePeer(await pythonWith("2.3.7"), () => {})).toEqual({
    absent: expect.stringContaining(`has MuJoCo 2.3.7, the WebAssembly is ${pinned}; pip install mujoco==${pinned}`),
  });
  expect(await nativePeer(undefined, () => {})).toEqual({
    absent: expect.stringContaining(`pip install mujoco==${pinned} numpy`),
  });
});

test("tables name the version that was measured", () => {
  const rate = (physicsStepsPerSec: number) => ({ physicsStepsPerSec, envStepsPerSec: 1, numEnvs: 64, bytesPerEnv: 1 });
  const bench = {
    name: "Ant-v5",
    rows: [rate(1000)],
    native: { mujoco: "3.14.0", rows: [{ ...rate(500), threads: 2 }] },
    mujoco: { workers1: { ...rate(100), workers: 1 }, workersN: { ...rate(200), workers: 2 } },
    ratio: { numEnvs: 64, workersN: 5, perCpuSecond: null },
  } as unknown as Bench;
  const [header, line] = overview([bench]);
  expect(header.slice(-2)).toEqual(["native 3.14.0, all cores", "ratio"]);
  expect(line.slice(-2)).toEqual(["500", "2.0 x"]);
  expect(peersOf(bench).map(({ what }) => what)).toContain("MuJoCo 3.14.0 native, 2 threads");
});

test("MJX, Brax and MuJoCo Warp stand in one table, of those that were measured", () => {
  const row = { numEnvs: 8192, physicsStepsPerSec: 10, envStepsPerSec: 2, compileSeconds: 1 };
  const jax: JaxPeer = { device: "card", versions: { jax: "1" }, rows: [{ what: "MJX", ...row }] };
  const warp: JaxPeer = { device: "card", versions: { warp: "2" }, rows: [{ what: "MuJoCo Warp", ...row }] };
  const none = { absent: "not measured: no such module" };
  expect(together(jax, warp)).toEqual({
    device: "card",
    versions: { jax: "1", warp: "2" },
    rows: [...jax.rows, ...warp.rows],
  });
  expect(together(none, warp)).toEqual({ ...warp, versions: { JAX: none.absent, warp: "2" } });
  expect(together(jax, none)).toEqual({ ...jax, versions: { jax: "1", "MuJoCo Warp": none.absent } });
  expect(together(none, none)).toEqual({ absent: expect.stringContaining("MuJoCo Warp not measured") });
});
