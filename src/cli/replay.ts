/** `corral replay`: the last steps of worlds that failed, executed again and explained. */

import { readBundle } from "../record/bundle.ts";
import { replay, type ReplayReport } from "../forensics/replay.ts";
import { EXIT, parse, print, printJson } from "./io.ts";
import { table } from "./table.ts";
import { deviceOf, onlyArgument } from "./target.ts";

export const summary = "execute a crash bundle again, find what broke first, and why";

export const help = `
Usage: corral replay BUNDLE [--json]

Executes the recorded control steps of a bundle again and compares every bit. The bundle holds all that it takes: the
kernel, the model, states, actions, random counters. The task's code is not needed.

  --adapter NAME    auto (default), gpu, system or embedded
  --device NAME     cpu (float32) or cpu-f64 (float64) instead of the adapter it was recorded on
  --json            one JSON document on stdout

Exit codes: 0 done and identical, 1 the bits differ, 2 bad usage or no readable bundle, 3 no device.
`;

export async function run(args: string[]): Promise<number> {
  const options = { adapter: { type: "string" }, device: { type: "string" } } as const;
  const { values, positionals } = parse(args, options, 1);
  const bundle = readBundle(onlyArgument(positionals, "BUNDLE"));
  const where = { ...(values.adapter === undefined ? {} : { adapter: values.adapter }), ...deviceOf(values.device) };
  const report = await replay(bundle, where);
  if (values.json) printJson({ bundle: bundle.about, replay: report });
  else print([bundle.about.message, "", ...describeReplay(report)].join("\n"));
  return report.identical ? EXIT.done : EXIT.failed;
}

function describeReplay(r: ReplayReport): string[] {
  const differences = r.differences.map(
    ({ what, recorded, here }) => `  ${what}: recorded with ${recorded}, here ${here}`,
  );
  const about = differences.length > 0 ? ["what is not as it was recorded:", ...differences] : [];
  if (r.identical) return [`identical: ${r.steps} control steps, hash ${r.hash}`, ...about];
  const lines = [`NOT identical: ${r.steps} control steps on ${r.device}, hash ${r.hash}, recorded ${r.recordedHash}`];
  if (r.first) {
    const { step, world, field, element, recorded, here } = r.first;
    lines.push(
      `first seen after control step ${step}: ${field}[${element}] of world ${world} is ${here}, recorded ${recorded}`,
    );
  }
  const rows = Object.entries(r.drift).map(([field, error]) => [field, error.toExponential(1)]);
  if (rows.length > 0) lines.push("drift at the end, |x - recorded| / (1 + |recorded|):", table(rows));
  if (differences.length === 0) about.push("nothing that corral knows of differs: same version, driver and shader");
  return [...lines, ...about];
}
