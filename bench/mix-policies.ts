// a policy between two, without training: weights, biases and deviations are means of both, first layers as they act on
// observations that are not normalised (decision 0112). Both must come from one policy by training.
// Run: npx tsx bench/mix-policies.ts OUT FIRST SECOND SHARE [PART=FACTOR]... [--lacks PART]
// SHARE is the second one's. FIRST may see fewer parts of the observations of SECOND's task, and SECOND the part that
// --lacks names; what neither saw is let in with weights of 0. PART=FACTOR scales what a part adds about its mean.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { encodeSafetensors } from "../src/io/safetensors.ts";
import type { NamedArray } from "../src/rl/networks/networks.ts";
import { columnsIn, seenBy, type Seen } from "../src/runs/columns.ts";
import { policyFile, type PolicyFile } from "../src/runs/policy-file.ts";

/** Deviations by which columns are normalised that neither policy saw (m, rad): a foot's height, pitch and roll. */
const UNSEEN: Readonly<Record<string, readonly number[]>> = { ground: [0.05, 0.15, 0.1] };

const WEIGHT = "policy.0.weight";
const BIAS = "policy.0.bias";
const MEAN = "normalizer.mean";
const INVERSE = "normalizer.inverse_std";
const VARIANCE = "normalizer.variance";

const { values, positionals } = parseArgs({ options: { lacks: { type: "string" } }, allowPositionals: true });
const [out, first, second, given, ...scaled] = positionals;
const share = Number(given);
if (!(share >= 0 && share <= 1)) throw new Error("Pass OUT FIRST SECOND SHARE, a share of 0 to 1.");

/** What a file's policy saw: its task's parts, without the lacking one where it has fewer columns than they. */
async function seen({ env, named, path }: PolicyFile): Promise<Seen> {
  const all = await seenBy({ env });
  if (!all) throw new Error(`${path} is of ${env}, which is not known here.`);
  const { length } = named[MEAN].data;
  if (length === all.nobs) return all;
  const observation = all.observation.filter(({ name }) => name !== values.lacks);
  const nobs = observation.reduce((sum, { size }) => sum + size, 0);
  if (nobs === length) return { ...all, observation, nobs };
  throw new Error(`${path} sees ${length} numbers of ${all.nobs}; pass --lacks PART.`);
}

const [one, other] = [first, second].map((path) => policyFile(path));
const task = (await seenBy({ env: other.env }))!;

/** The first layer as it acts on observations of the task that are not normalised: weights by row, biases. */
async function plain(file: PolicyFile): Promise<{ readonly weights: number[][]; readonly biases: number[] }> {
  const columns = columnsIn(await seen(file), task);
  if (typeof columns === "string") throw new Error(`${file.path}: ${columns}`);
  const [{ data: w }, { data: b }] = [file.named[WEIGHT], file.named[BIAS]];
  const [mean, inverse] = [file.named[MEAN].data, file.named[INVERSE].data];
  const weights = Array.from(b, () => Array.from({ length: task.nobs }, () => 0));
  const biases = Array.from(b, (x, row) => {
    let moved = 0;
    columns.forEach((to, from) => {
      weights[row][to] = w[row * columns.length + from] * inverse[from];
      moved += weights[row][to] * mean[from];
    });
    return x - moved;
  });
  return { weights, biases };
}

/** The second one's normaliser, over all columns of the task. */
async function normaliser(): Promise<Record<string, NamedArray>> {
  const columns = columnsIn(await seen(other), task) as readonly number[];
  const [mean, inverse, variance] = [0, 1, 1].map((x) => new Float32Array(task.nobs).fill(x));
  let at = 0;
  for (const { name, size } of task.observation) {
    const sizes = UNSEEN[name] ?? [1];
    for (let i = 0; i < size; i++) {
      const deviation = sizes[i % sizes.length];
      [inverse[at + i], variance[at + i]] = [1 / deviation, deviation * deviation];
    }
    at += size;
  }
  columns.forEach((to, from) => {
    mean[to] = other.named[MEAN].data[from];
    inverse[to] = other.named[INVERSE].data[from];
    variance[to] = other.named[VARIANCE].data[from];
  });
  const shape = [task.nobs];
  return {
    [MEAN]: { shape, data: mean },
    [INVERSE]: { shape, data: inverse },
    [VARIANCE]: { shape, data: variance },
  };
}

/** How much what each column adds about its mean is scaled. */
function factors(): number[] {
  const by = new Map(scaled.map((text) => text.split("=") as [string, string]));
  const unknown = [...by.keys()].find((name) => !task.observation.some((part) => part.name === name));
  if (unknown !== undefined) throw new Error(`${other.env} has no part ${unknown}.`);
  return task.observation.flatMap(({ name, size }) => Array.from({ length: size }, () => Number(by.get(name) ?? 1)));
}

const between = (a: number, b: number): number => (1 - share) * a + share * b;
const norm = await normaliser();
const [mean, inverse] = [norm[MEAN].data, norm[INVERSE].data];
const by = factors();
const [a, b] = [await plain(one), await plain(other)];
const bias = Float32Array.from(a.biases, (x, row) => between(x, b.biases[row]));
const weight = new Float32Array(bias.length * task.nobs);
for (const [row, start] of bias.entries()) {
  let moved = start;
  for (let c = 0; c < task.nobs; c++) {
    const whole = between(a.weights[row][c], b.weights[row][c]);
    const kept = whole * by[c];
    // what a part is scaled by does not move its mean, and the normaliser takes the mean away
    moved += (whole - kept) * mean[c] + kept * mean[c];
    weight[row * task.nobs + c] = kept / inverse[c];
  }
  bias[row] = moved;
}
const tensors: Record<string, NamedArray> = {};
for (const [name, { shape, data }] of Object.entries(other.named)) {
  const mixed = name.startsWith("policy.") || name === "log_std";
  tensors[name] = mixed
    ? { shape, data: Float32Array.from(data, (x, i) => between(one.named[name].data[i], x)) }
    : { shape, data };
}
tensors[WEIGHT] = { shape: [bias.length, task.nobs], data: weight };
tensors[BIAS] = { shape: [bias.length], data: bias };
Object.assign(tensors, norm);
writeFileSync(out, encodeSafetensors(tensors, { ...other.metadata, observations: String(task.nobs) }));
