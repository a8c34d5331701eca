/**
 * `npx tsx tools/gpu-compilers/browsers.ts [--write FILE] ENV_OR_MODEL ...`: what browsers make of step kernels: whether
 * Chrome's compiler (tint) takes them, and the HLSL, MSL and SPIR-V that Firefox's (naga) hands to Direct3D, Metal and
 * Vulkan, with its processor time. Needs `naga` and `tint` on the PATH (`cargo install naga-cli`; Dawn's tint). Exit codes:
 * 0 done, 1 a kernel was refused, 2 bad usage, 3 neither is here.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { learnerKernels, stepKernels } from "./kernels.ts";

/** Languages that naga writes, by the ending of a file. */
const LANGUAGES = { hlsl: "HLSL", metal: "MSL", spv: "SPIR-V" } as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "string" }, learner: { type: "boolean" } },
});
if (positionals.length === 0 && !values.learner) {
  console.error("usage: npx tsx tools/gpu-compilers/browsers.ts [--learner] [--write FILE] ENV_OR_MODEL ...");
  process.exit(2);
}

const versionOf = (command: string, flag: string): string | undefined => {
  const { error, stdout } = spawnSync(command, [flag], { encoding: "utf8" });
  return error ? undefined : stdout.trim().split("\n")[0];
};
const naga = versionOf("naga", "--version");
const hasTint = versionOf("tint", "--help") !== undefined;
if (naga === undefined && !hasTint) {
  console.error("not measured: neither naga nor tint is on the PATH (cargo install naga-cli)");
  process.exit(3);
}

const folder = mkdtempSync(join(tmpdir(), "corral-browsers-"));
let refused = 0;

/** Runs a compiler. Seconds of processor time and the bytes of `out`, or why it was refused. */
function compile(command: string, args: readonly string[], out?: string): string {
  const { status, stderr } = spawnSync("bash", ["-c", 'TIMEFORMAT="seconds %U"; time "$@"', "bash", command, ...args], {
    encoding: "utf8",
  });
  if (status !== 0) {
    refused++;
    console.error(stderr.slice(0, 500));
    return "refused";
  }
  const seconds = /seconds ([\d.]+)/.exec(stderr)![1];
  return out === undefined ? `${seconds} s` : `${Math.ceil(statSync(out).size / 1024)} KB, ${seconds} s`;
}

function row(name: string, code: string): string[] {
  const file = join(folder, "kernel.wgsl");
  writeFileSync(file, code);
  const written = Object.keys(LANGUAGES).map((ending) => {
    if (naga === undefined) return "";
    const out = join(folder, `kernel.${ending}`);
    return compile("naga", [file, out], out);
  });
  const accepted = hasTint ? compile("tint", ["--format", "wgsl", file, "-o", join(folder, "again.wgsl")]) : "";
  return [name, `${Math.ceil(code.length / 1024)} KB`, accepted, ...written];
}

try {
  const kernels: Record<string, string> = values.learner ? learnerKernels() : {};
  for (const target of positionals)
    Object.assign(kernels, await stepKernels(target, basename(target).replace(/\.\w+$/, "")));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const titles = ["kernel", "WGSL", "tint takes it in", ...Object.values(LANGUAGES).map((name) => `${name} by naga`)];
  const lines = [
    `${naga === undefined ? "no naga" : `naga ${naga}`}; ${hasTint ? "tint" : "no tint"}. Seconds are of one core's time.`,
    "",
    line(titles),
    line(titles.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...Object.entries(kernels).map(([name, code]) => line(row(name, code))),
    "",
  ];
  console.log(lines.join("\n"));
  if (values.write !== undefined)
    writeFileSync(`${values.write}.md`, `# What browsers' compilers say of kernels\n\n${lines.join("\n")}`);
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(refused > 0 ? 1 : 0);
