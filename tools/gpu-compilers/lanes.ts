/**
 * `npx tsx tools/gpu-compilers/lanes.ts`: what two compilers for GPUs say of two stages of Newton's solver with one, four
 * and eight lanes a world: the LᵀDL factor of H, and the sum of JᵀDJ over contacts (docs/decisions/0065, 0082).
 * Straight-line code of a model's own sparsity; with several lanes a world, each holds every fourth or eighth column.
 */
import { fileURLToPath } from "node:url";
import { loadModel } from "../../src/model/model.ts";
import { treeSparsity, type Sparsity } from "../../src/physics/smooth/sparsity.ts";
import { install, measure } from "./measure.ts";

const LANES = [1, 4, 8] as const;
const SUBGROUP = 32;
/** Edges of a pyramidal contact of three dimensions. */
const EDGES = 4;

/** A kernel over worlds of `lanes` lanes each, whose lane `lane` holds columns lane, lane + lanes, ... of a matrix. */
class Kernel {
  readonly lines: string[] = [];
  readonly lanes: number;

  constructor(lanes: number) {
    this.lanes = lanes;
  }

  /** The value of a column's owner, in all lanes of the world. */
  fromOwner(name: string, column: number, value: string): string {
    if (this.lanes === 1) return value;
    this.lines.push(`let ${name} = subgroupShuffle(${value}, first + ${column % this.lanes}u);`);
    return name;
  }

  text(): string {
    const { lanes, lines } = this;
    return [
      ...(lanes > 1 ? ["enable subgroups;"] : []),
      "struct Counts { worlds: u32, contacts: u32 }",
      "@group(0) @binding(0) var<storage, read_write> data: array<f32>;",
      "@group(0) @binding(1) var<uniform> counts: Counts;",
      `@compute @workgroup_size(${2 * SUBGROUP})`,
      `fn main(@builtin(global_invocation_id) gid: vec3<u32>${lanes > 1 ? ", @builtin(subgroup_invocation_id) sub: u32" : ""}) {`,
      `let world = gid.x / ${lanes}u;`,
      `let lane = gid.x % ${lanes}u;`,
      ...(lanes > 1 ? ["let first = sub - lane;"] : []),
      // words of a world lie a world apart, so that neighbours read neighbours
      "let stride = counts.worlds;",
      ...lines,
      "}",
    ].join("\n");
  }
}

const slotOf = (kernel: Kernel, column: number): number => Math.floor(column / kernel.lanes);
/** Slots in which some lane has one of these columns. */
const slotsOf = (kernel: Kernel, columns: readonly number[]): number[] => [
  ...new Set(columns.map((column) => slotOf(kernel, column))),
];

/** Reads or writes what a lane holds of a matrix; rows in `slots` of columns. */
function pass(kernel: Kernel, { n, rows }: Sparsity, isRead: boolean): void {
  for (let i = 0; i < n; i++)
    for (const s of slotsOf(kernel, rows[i])) {
      const at = `data[(${i * n}u + ${s * kernel.lanes}u + lane) * stride + world]`;
      kernel.lines.push(isRead ? `var h${i}_${s} = ${at};` : `${at} = h${i}_${s};`);
    }
}

/** H = LᵀDL in place, from the last row up. */
function factor(sparsity: Sparsity, lanes: number): string {
  const kernel = new Kernel(lanes);
  const { lines } = kernel;
  pass(kernel, sparsity, true);
  for (let k = sparsity.n - 1; k >= 0; k--) {
    const before = sparsity.rows[k].slice(0, -1);
    if (before.length === 0) continue;
    const d = kernel.fromOwner(`d${k}`, k, `h${k}_${slotOf(kernel, k)}`);
    lines.push(`let r${k} = 1.0 / ${d};`);
    for (const i of before) {
      const own = kernel.fromOwner(`b${k}_${i}`, i, `h${k}_${slotOf(kernel, i)}`);
      lines.push(`let l${k}_${i} = ${own} * r${k};`);
      // columns beyond i that a lane holds beside it are zero in row k's place, or above the diagonal and never read
      const columns = before.filter((j) => j <= i);
      for (const s of slotsOf(kernel, columns)) lines.push(`h${i}_${s} -= l${k}_${i} * h${k}_${s};`);
    }
    for (const s of slotsOf(kernel, before)) {
      const scaled = `h${k}_${s} * r${k}`;
      const isDiagonal = slotOf(kernel, k) === s;
      lines.push(`h${k}_${s} = ${isDiagonal ? `select(${scaled}, h${k}_${s}, lane == ${k % lanes}u)` : scaled};`);
    }
  }
  pass(kernel, sparsity, false);
  return kernel.text();
}

/** H += sum over contacts of JᵀDJ, in a loop, of a chain of dofs: the same terms in the same order for any number of lanes. */
function accumulate(sparsity: Sparsity, chain: readonly number[], lanes: number): string {
  const kernel = new Kernel(lanes);
  const { lines } = kernel;
  const { n } = sparsity;
  pass(kernel, sparsity, true);
  const base = n * n;
  // WGSL has subgroup operations only where all lanes of a subgroup turn alike: as often as the world with most contacts
  lines.push("for (var c = 0u; c < counts.contacts; c++) {");
  lines.push(`let row = ${base}u + c * ${EDGES * (n + 1)}u;`);
  for (let e = 0; e < EDGES; e++) {
    const at = (offset: string) => `data[(row + ${e * (n + 1)}u + ${offset}) * stride + world]`;
    lines.push(`let w${e} = ${at(`${n}u`)};`);
    for (const s of slotsOf(kernel, chain)) lines.push(`let j${e}_${s} = ${at(`${s * lanes}u + lane`)};`);
    for (const i of chain) {
      const own = kernel.fromOwner(`b${e}_${i}`, i, `j${e}_${slotOf(kernel, i)}`);
      lines.push(`let x${e}_${i} = w${e} * ${own};`);
      const columns = chain.filter((j) => j <= i);
      for (const s of slotsOf(kernel, columns)) lines.push(`h${i}_${s} += x${e}_${i} * j${e}_${s};`);
    }
  }
  lines.push("}");
  pass(kernel, sparsity, false);
  return kernel.text();
}

const why = install();
if (why !== undefined) {
  console.error(why);
  process.exit(3);
}
const kernels: Record<string, string> = {};
for (const name of ["ant", "humanoid"]) {
  const model = await loadModel(fileURLToPath(new URL(`../../envs/${name}/model.xml`, import.meta.url)));
  const sparsity = treeSparsity(model);
  const longest = sparsity.rows.reduce((a, b) => (b.length > a.length ? b : a));
  for (const lanes of LANES) {
    kernels[`${name}, factor, ${lanes}`] = factor(sparsity, lanes);
    kernels[`${name}, contacts, ${lanes}`] = accumulate(sparsity, longest, lanes);
  }
}
const { amd, nvidia, rows } = measure(kernels);
const line = (cells: readonly (string | number)[]) => `| ${cells.map((c) => c.toLocaleString("en")).join(" | ")} |`;
console.log(`${amd}; ${nvidia}\n`);
console.log(
  line(["stage, lanes a world", "AMD live registers", "latency", "inv. throughput", "NVIDIA registers", "code B"]),
);
console.log(line(["---", "---:", "---:", "---:", "---:", "---:"]));
for (const row of rows)
  console.log(
    line([
      row.name,
      row.amd?.live ?? 0,
      row.amd?.latency ?? 0,
      row.amd?.throughput ?? 0,
      row.nvidia?.registers ?? 0,
      row.nvidia?.code ?? 0,
    ]),
  );
process.exit(0);
