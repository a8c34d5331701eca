// what takes seconds is told while the work holds the thread
import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { onBuild } from "../../support/built.ts";
import { ROOT } from "../../support/imports.ts";

test("a command says that MuJoCo compiles a model for seconds", async () => {
  const program = onBuild(`
    import { timed } from "./src/core/spans.ts";
    import { tellWaits } from "./src/cli/waits.ts";
    tellWaits();
    timed("trace", () => {});
    timed("load", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));`);
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let told = "";
  await new Promise<void>((resolve) => {
    child.stderr.on("data", (chunk: Buffer) => {
      told += chunk.toString();
      if (told.includes("\n")) child.kill("SIGKILL");
    });
    child.on("close", () => resolve());
  });
  expect(told).toBe("MuJoCo compiles the model, 2 s so far\n");
});
