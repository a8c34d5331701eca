// runs the command line inside of the test's process: much faster than `corral` of cli.ts, which starts one
import { main } from "../../src/cli/main.ts";
import type { CliRun } from "./cli.ts";

/** Runs `corral` with arguments and collects what it prints. One run at a time. */
export async function corralInside(args: readonly string[]): Promise<CliRun> {
  const printed = { stdout: "", stderr: "" };
  const restore = (["stdout", "stderr"] as const).map((name) => {
    const stream = process[name];
    const write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array) => {
      printed[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      return true;
    };
    return () => void (stream.write = write);
  });
  try {
    return { code: await main([...args]), ...printed };
  } finally {
    for (const undo of restore) undo();
  }
}
