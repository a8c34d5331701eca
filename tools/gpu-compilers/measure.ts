// what two compilers for GPUs say of kernels: registers, spills, scratch, code size, seconds
import { createHash } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AMD_CHIP, COMPILERS, amd as amdDriver } from "./drivers.ts";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The chip that NVIDIA's compiler compiles for: H100. */
const NVIDIA_ARCH = 90;

/** What the compilers say of a kernel. Counts are of registers or bytes of a lane, code in bytes. */
export interface Row {
  readonly name: string;
  /** Of what was compiled: a digest of its WGSL but for the first line, which names the task. */
  readonly text?: string;
  readonly amd?: Readonly<
    Record<"live" | "spilled" | "scratch" | "code" | "throughput" | "latency" | "seconds", number>
  >;
  readonly nvidia?: Readonly<Record<"registers" | "spilled" | "stack" | "code" | "seconds", number>>;
  /** Seconds of processor time in which a compiler without figures had not ended. */
  readonly limit?: number;
}

export interface Measured {
  /** Versions of the compilers. */
  readonly amd: string;
  readonly nvidia: string;
  readonly rows: readonly Row[];
}

type Line = Readonly<Record<string, number | string>>;
const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);

/** Whether the compilers were unpacked; if not, they are, where that can be. The reason why not, or undefined. */
export function install(): string | undefined {
  const { status, stderr } = spawnSync("bash", [here("install.sh"), COMPILERS], { encoding: "utf8" });
  return status === 0 ? undefined : stderr.trim().split("\n").at(-1) || "install.sh failed";
}

export const isInstalled = (): boolean => existsSync(join(COMPILERS, "done"));

/** Of kernels that are the same but for their names. */
export const digestOf = (code: string): string =>
  createHash("sha256")
    .update(code.slice(code.indexOf("\n")))
    .digest("hex")
    .slice(0, 16);

/** Compiles kernels, WGSL by name. A compile that takes more than `limit` seconds of processor time is given up. */
export function measure(kernels: Readonly<Record<string, string>>, limit?: number): Measured {
  const folder = mkdtempSync(join(tmpdir(), "corral-compilers-"));
  try {
    return measureIn(folder, kernels, limit);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function measureIn(folder: string, kernels: Readonly<Record<string, string>>, limit: number | undefined): Measured {
  const spirv = join(folder, "spirv");
  mkdirSync(spirv);
  const names = Object.keys(kernels);
  const files = names.map((name) => {
    const file = join(folder, `${name}.wgsl`);
    writeFileSync(file, kernels[name]);
    return file;
  });
  const [{ device }] = run(process.execPath, [here("amd.mjs")], undefined, amdDriver(folder, spirv))!;
  const amd = new Map<string, Line>();
  const nvidia = new Map<string, Line>();
  const limited = new Set<string>();
  // a process for each kernel where there is a limit, else one for all
  for (const [i, batch] of (limit === undefined ? [files] : files.map((file) => [file])).entries()) {
    const modules = join(spirv, String(i));
    mkdirSync(modules);
    const lines = run(process.execPath, [here("amd.mjs"), ...batch], limit, amdDriver(folder, modules));
    for (const line of lines ?? []) if (line.name !== undefined) amd.set(String(line.name), line);
    if (lines === undefined) {
      limited.add(names[i]);
      // what did not end was not named
      const [module] = readdirSync(modules).filter((name) => /^\d+\.spv$/.test(name));
      if (module !== undefined) renameSync(join(modules, module), join(modules, `${names[i]}.spv`));
    }
    const found = readdirSync(modules).map((name) => join(modules, name));
    const args = [here("nvidia.py"), "--arch", String(NVIDIA_ARCH), ...found];
    const home = { NV_ROOT: join(COMPILERS, "nv"), PYTHONDONTWRITEBYTECODE: "1" };
    const said = run("python3", args, limit, home);
    if (said === undefined) limited.add(names[i]);
    for (const line of said ?? [])
      if (line.limited) limited.add(String(line.name));
      else nvidia.set(String(line.name), line);
  }
  const [ptxas] = execFileSync("find", ["-L", join(COMPILERS, "nv"), "-name", "ptxas", "-type", "f"], {
    encoding: "utf8",
  }).split("\n");
  const version = /release ([\d.]+), V([\d.]+)/.exec(execFileSync(ptxas, ["--version"], { encoding: "utf8" }));
  const places = new Map(names.map((name, i) => [name, i]));
  const placeOf = (name: string) => places.get(name) ?? places.get(name.slice(0, name.lastIndexOf("."))) ?? 0;
  const all = [...new Set([...amd.keys(), ...limited])].sort((a, b) => placeOf(a) - placeOf(b));
  const rows = all.map((name) =>
    rowOf(
      name,
      amd.get(name),
      nvidia.get(name),
      limited.has(name) ? limit : undefined,
      digestOf(kernels[names[placeOf(name)]]),
    ),
  );
  return {
    amd: `${String(device)}, ${AMD_CHIP}`,
    nvidia: `ptxas ${version?.[2] ?? "?"}, sm_${NVIDIA_ARCH}`,
    rows,
  };
}

/** The lines that a compiler prints; undefined if it took more than `limit` seconds of processor time. */
function run(
  command: string,
  args: readonly string[],
  limit: number | undefined,
  variables: Readonly<Record<string, string>>,
): Line[] | undefined {
  const bound = limit === undefined ? "" : `ulimit -t ${limit}; `;
  const { status, signal, stdout, stderr } = spawnSync("bash", ["-c", `${bound}exec "$@"`, "bash", command, ...args], {
    encoding: "utf8",
    env: { ...process.env, ...variables },
    maxBuffer: 2 ** 28,
  });
  if (signal === "SIGKILL" || signal === "SIGXCPU") return undefined;
  // what NVIDIA's front end refuses has no figures
  if (status !== 0 && command === process.execPath) throw new Error(stderr.slice(-2000));
  return linesOf(stdout);
}

function rowOf(
  name: string,
  amd: Line | undefined,
  nvidia: Line | undefined,
  limit: number | undefined,
  text: string,
): Row {
  const of = (line: Line, field: string) => Number(line[field] ?? 0);
  return {
    name,
    text,
    ...(amd && {
      amd: {
        live: of(amd, "Pre-Sched VGPRs"),
        spilled: of(amd, "Spilled VGPRs"),
        scratch: of(amd, "Scratch size") / of(amd, "subgroup_size"),
        code: of(amd, "Code size"),
        throughput: of(amd, "Inverse Throughput"),
        latency: of(amd, "Latency"),
        seconds: of(amd, "compile_s"),
      },
    }),
    ...(nvidia && {
      nvidia: {
        registers: of(nvidia, "registers"),
        spilled: of(nvidia, "spill_stores") + of(nvidia, "spill_loads"),
        stack: of(nvidia, "stack"),
        code: of(nvidia, "code_bytes"),
        seconds: of(nvidia, "ptxas_s"),
      },
    }),
    ...(limit !== undefined && { limit }),
  };
}

/** How much a number may grow. */
export const MOST_GROWTH = 1.05;

/** What is not a matter of the kernel: seconds, and a compiler's own estimates. */
const UNWATCHED = ["seconds", "throughput", "latency"];

/** What grew by more than MOST_GROWTH, in words; only kernels and compilers that both know. */
export function growth(before: Measured, now: Measured): string[] {
  return now.rows.flatMap((row) => {
    const old = before.rows.find(({ name }) => name === row.name);
    return (["amd", "nvidia"] as const).flatMap((compiler) => {
      if (before[compiler] !== now[compiler]) return [];
      const [a, b] = [old?.[compiler], row[compiler]] as (Readonly<Record<string, number>> | undefined)[];
      if (!a || !b) return [];
      const grown = Object.keys(b).filter((name) => !UNWATCHED.includes(name) && b[name] > MOST_GROWTH * a[name]);
      return grown.map((name) => `${row.name}, ${compiler}: ${name} was ${a[name]}, is ${b[name]}`);
    });
  });
}
