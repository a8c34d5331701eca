/**
 * `npx tsx tools/gpu-compilers/bits.ts [--lavapipe] [--exact] [--forms LIST] [--worlds N] [--steps N] [--write FILE] ENV_OR_MODEL
 * ...`: steps each as software drivers get it, and in forms for GPUs, on the driver that is here, and compares the bits of
 * observations, rewards and state. Forms: `plan` (as a GPU gets it), `whole`, `cut` (in pieces), `few` (in pieces of at most 40
 * values that live at once). `--lavapipe`: on the one of install.sh, whose LLVM then optimises nothing, which takes a third of
 * the time. `--exact`: there, where no compiler may compute floats in another order than the kernel's. `--write FILE` keeps
 * rows in FILE.json and FILE.md. Exit codes: 0 the same, 1 other bits, 2 bad usage, 3 lavapipe cannot be installed here.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { openDevice } from "../../src/gpu/device.ts";
import { lavapipe } from "./drivers.ts";
import { play, posingAsGpu, type FormOptions, type Played } from "./forms.ts";
import { install } from "./measure.ts";
import "../../envs/index.ts";

const FORMS: Readonly<Record<string, FormOptions>> = {
  plan: {},
  whole: { cut: false },
  cut: { cut: true },
  few: { cut: true, mostLive: 40 },
};

interface Row {
  readonly name: string;
  readonly form: string;
  readonly driver: string;
  /** Whether no compiler computed floats in another order than the kernel's. */
  readonly exact: boolean;
  readonly straight: boolean;
  readonly pieces: number;
  readonly worlds: number;
  readonly steps: number;
  readonly same: boolean;
  /** Processor seconds of compiling and stepping, all threads. */
  readonly seconds: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    lavapipe: { type: "boolean", default: false },
    exact: { type: "boolean", default: false },
    forms: { type: "string", default: "plan" },
    worlds: { type: "string", default: "80" },
    steps: { type: "string", default: "30" },
    write: { type: "string" },
  },
});
const forms = values.forms.split(",");
const size = { worlds: Number(values.worlds), steps: Number(values.steps) };
if (positionals.length === 0 || forms.some((form) => !(form in FORMS)) || !(size.worlds > 0 && size.steps > 0)) {
  console.error(
    `usage: npx tsx tools/gpu-compilers/bits.ts [--forms ${Object.keys(FORMS).join(",")}] [--worlds N] [--steps N] [--write FILE] ENV_OR_MODEL ...`,
  );
  process.exit(2);
}

/** What says to the process that runs on lavapipe that it does. */
const CHOSEN = "CORRAL_BITS_DRIVER";
if ((values.lavapipe || values.exact) && process.env[CHOSEN] === undefined) {
  const why = install();
  if (why !== undefined) {
    console.error(why);
    process.exit(3);
  }
  const folder = mkdtempSync(join(tmpdir(), "corral-bits-"));
  const env = { ...process.env, ...lavapipe(folder, values.exact), [CHOSEN]: "lavapipe" };
  const { status } = spawnSync(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env,
    stdio: "inherit",
  });
  rmSync(folder, { recursive: true });
  process.exit(status ?? 1);
}

const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
const cellsOf = (row: Row) =>
  line([
    row.name,
    row.form,
    `${row.driver}${row.exact ? ", exact" : ""}`,
    row.straight ? "straight-line" : "rolled",
    row.pieces,
    row.worlds,
    row.steps,
    row.same ? "yes" : "no",
    row.seconds,
  ]);
const page = (rows: readonly Row[]): string =>
  [
    "# Bits of the forms for GPUs, on drivers that run kernels",
    "",
    "Beside the kernels that software drivers get, on one driver: observations, rewards and state. `plan`: as a GPU gets it; `whole`; `cut`: in pieces; `few`: in pieces of at most 40 values that live at once. Exact: no compiler may compute floats in another order than the kernel's. By `npx tsx tools/gpu-compilers/bits.ts`.",
    "",
    line(["environment", "form", "driver", "code", "kernels", "worlds", "control steps", "same bits", "processor s"]),
    "| --- | --- | --- | --- | ---: | ---: | ---: | --- | ---: |",
    ...rows.map(cellsOf),
    "",
  ].join("\n");

function keep(row: Row): void {
  console.log(cellsOf(row));
  if (values.write === undefined) return;
  const file = `${values.write}.json`;
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Row[]) : [];
  const isSame = (one: Row) =>
    one.name === row.name && one.form === row.form && one.driver === row.driver && one.exact === row.exact;
  const rows = [...before.filter((one) => !isSame(one)), row];
  rows.sort(
    (a, b) => a.name.localeCompare(b.name) || Number(a.exact) - Number(b.exact) || a.form.localeCompare(b.form),
  );
  writeFileSync(file, `${JSON.stringify(rows, null, 1)}\n`);
  writeFileSync(`${values.write}.md`, page(rows));
}

const seconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const gpu = await openDevice();
const posing = posingAsGpu(gpu);
let others = 0;
for (const target of positionals) {
  const name = basename(target).replace(/\.\w+$/, "");
  // by the form for GPUs: its code is straight-line or rolled as there
  const usual = new Map<boolean, Played>();
  for (const form of forms) {
    const start = seconds();
    const posed = await play(target, posing, FORMS[form], size);
    const took = seconds() - start;
    const { unroll } = posed.env.kernels.get("step")!.form;
    if (!usual.has(unroll)) usual.set(unroll, await play(target, gpu, { unroll, cut: false }, size));
    const same = posed.hash === usual.get(unroll)!.hash;
    if (!same) others++;
    keep({
      name,
      form,
      driver: gpu.info.driver,
      exact: values.exact,
      straight: unroll,
      pieces: posed.env.cuts.get("step")?.pieces.length ?? 1,
      ...size,
      same,
      seconds: Math.round(took * 10) / 10,
    });
  }
}
gpu.close();
process.exit(others > 0 ? 1 : 0);
