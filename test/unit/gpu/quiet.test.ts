// what Dawn prints while it lists drivers stays off the terminal, and nothing else does
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { onBuild } from "../../support/built.ts";
import { ROOT } from "../../support/imports.ts";
import { PATIENCE_MS } from "../../support/patience.ts";

function run(code: string, env: Record<string, string> = {}) {
  const script = `import { writeSync, readdirSync } from "node:fs"; import { withQuietStderr } from "./src/gpu/quiet.ts"; ${code}`;
  return spawnSync(process.execPath, ["--input-type=module", "--eval", onBuild(script)], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, ...env },
    timeout: PATIENCE_MS,
  });
}

describe.skipIf(process.platform === "win32")("standard error, while drivers are listed", () => {
  // as native code writes it
  const DAWN = String.raw`writeSync(2, "Warning: maxDynamicUniformBuffersPerPipelineLayout artificially reduced\n - While x\n    at Check (a/dawn/src/b.cpp:7)\n\n");`;

  test("loses the warnings that are told elsewhere, and keeps the rest, before and after too", () => {
    const { stderr, stdout, status } = run(`
      const files = () => readdirSync("/dev/fd").length;
      withQuietStderr(() => {});
      // Node opens its own descriptor of it with the first text
      console.error("first");
      const before = files();
      const value = withQuietStderr(() => { ${DAWN} writeSync(2, "Error: real\\nLLVM ERROR: also\\n"); return 5; });
      console.error("last");
      console.log(value, files() - before);`);
    expect([status, stdout.trim()]).toEqual([0, "5 0"]);
    expect(stderr.split("\n").toSorted()).toEqual(["", "Error: real", "LLVM ERROR: also", "first", "last"]);
  });

  test("keeps what a driver says before it takes the process down", () => {
    const { stderr, signal } = run(`withQuietStderr(() => { ${DAWN} writeSync(2, "why\\n"); process.abort(); });`);
    expect(signal).toBe("SIGABRT");
    expect(stderr).toMatch(/^why$/m);
    expect(stderr).not.toContain("Warning");
  });

  test("is put back where the call throws, and untouched with CORRAL_DEBUG", () => {
    const { stderr } = run(`try { withQuietStderr(() => { throw 1; }); } catch {} ${DAWN}`);
    expect(stderr).toContain("Warning: ");
    expect(run(`withQuietStderr(() => { ${DAWN} });`, { CORRAL_DEBUG: "1" }).stderr).toContain("Warning: ");
  });

  test("a script that opens a device prints nothing that is not its own", () => {
    const { stderr, stdout } = run(`
      const { openDevice } = await import("./src/gpu/index.ts");
      for (const adapter of ["null", "auto"]) (await openDevice({ adapter })).close();
      console.log("end");`);
    expect([stdout, stderr]).toEqual(["end\n", ""]);
  });
});
