// `corral export`: the policy of a run, for ONNX runtimes, for anything that reads arrays, or for browsers
import { formatBytes, formatCount } from "../core/units.ts";
import { dirname, join } from "node:path";
import { CONFIG_FILE } from "../runs/run-config.ts";
import { EXPORT_FORMATS, exportPolicy, type ExportFormat } from "../export/index.ts";
import { isPolicyFile, policyFile } from "../runs/policy-file.ts";
import { lastCheckpoint } from "../runs/checkpoints.ts";
import { EXIT, parse, print, printJson, UsageError } from "./io.ts";
import { onlyArgument } from "./target.ts";
import { idOfNamed } from "./task-file.ts";

export const summary = "write the policy of a run as ONNX, safetensors, or WGSL for a browser";

export const help = `
Usage: corral export DIR|POLICY.safetensors --format FORMAT [--to PATH] [--json]

Writes the policy of the run in DIR, as its last checkpoint has it: the deterministic one, with
normalisation of observations and bounds of actions inside; or that of a safetensors file, as the
Python package writes of other learners' networks (corral.policies). Opens no device.

  --format onnx          one file, for every ONNX runtime
  --format safetensors   one file, parameters under PyTorch's names, with what observations are
                         normalised by
  --format wgsl          a folder: a kernel, its weights, and what runs them on navigator.gpu
  --to PATH              file or folder to write [DIR/policy.onnx, DIR/policy.safetensors,
                         DIR/policy-web; of a file beside it]
  --json                 one JSON document on stdout

Exit codes: 0 done, 1 what could not be written, 2 bad usage, no checkpoint, a policy that the
format cannot hold.
`;

const NAMES: Readonly<Record<ExportFormat, string>> = {
  onnx: "policy.onnx",
  safetensors: "policy.safetensors",
  wgsl: "policy-web",
};

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, { format: { type: "string" }, to: { type: "string" } }, 1);
  const folder = onlyArgument(positionals, "DIR");
  const format = EXPORT_FORMATS.find((name) => name === values.format);
  if (!format) {
    const known = EXPORT_FORMATS.join(", ");
    throw new UsageError(`--format is ${values.format ? `'${values.format}'` : "missing"}: pass one of ${known}.`);
  }
  const isFile = isPolicyFile(folder);
  const { env, ...progress } = isFile ? { env: policyFile(folder).env } : await aboutRun(folder);
  const to = values.to ?? join(isFile ? dirname(folder) : folder, NAMES[format]);
  const exported = await exportPolicy(folder, { format, to });
  const bytes = Object.values(exported.files).reduce((sum, size) => sum + size, 0);
  const after = "envSteps" in progress ? ` after ${formatCount(progress.envSteps)} env steps` : "";
  if (values.json) printJson({ ...exported, bytes, env, ...progress });
  else print(`${exported.to}: ${formatBytes(bytes)}, the policy of ${String(env)}${after}`);
  return EXIT.done;
}

async function aboutRun(folder: string) {
  const { config, iteration, envSteps } = lastCheckpoint(folder).checkpoint.about;
  if (typeof config.task === "string") await idOfNamed(config.task, join(folder, CONFIG_FILE));
  return { env: config.env, iteration, envSteps };
}
