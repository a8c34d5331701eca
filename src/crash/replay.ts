// executes a bundle again: whether every bit is the same, or what differs and by how much
import { createHash } from "node:crypto";
import { optionsOf } from "../core/options.ts";
import {
  assertBundle,
  kernelHashes,
  piecesHash,
  programOf,
  versions,
  type Bundle,
  type Versions,
} from "../record/bundle.ts";
import { HOST_WORDS } from "../record/host-words.ts";
import { emittedKernel } from "../record/read-bundle.ts";
import type { Words } from "../record/words.ts";
import { numbersOf } from "../record/words.ts";
import { Reexecution, segmentsOf, wordsLike, type ReexecuteOptions } from "./reexecute.ts";
import type { Moment } from "./timeline.ts";

/** Something that is not as it was when the bundle was written. */
export interface Difference {
  readonly what: "driver" | "precision" | "shader" | "pieces" | keyof Versions;
  readonly recorded: string;
  readonly here: string;
}

/** How far a field is from what was recorded. */
export interface Drift {
  /** Control steps of the batch. */
  readonly step: number;
  readonly world: number;
  readonly field: string;
  readonly element: number;
  readonly recorded: number;
  readonly here: number;
}

export interface ReplayReport {
  readonly path: string;
  readonly identical: boolean;
  /** Control steps that were made again. */
  readonly steps: number;
  /** SHA-256 of the states and results at the end. */
  readonly hash: string;
  readonly recordedHash: string;
  readonly device: string;
  readonly differences: readonly Difference[];
  /** Where records part first, and the largest relative distance of each field at the end. */
  readonly first: Drift | undefined;
  readonly drift: Readonly<Record<string, number>>;
}

/**
 * Runs the worlds of a bundle over all recorded control steps.
 * @throws CorralError no-bundle, bad-option, replay-endless; errors of the device
 */
export async function replay(bundle: Bundle, options: ReexecuteOptions = {}): Promise<ReplayReport> {
  assertBundle(bundle);
  await using run = await Reexecution.create(bundle, optionsOf(options));
  return await executed(run);
}

/** Makes all recorded control steps and compares every bit; `keep` is given each of them. */
export async function executed(run: Reexecution, keep?: (moment: Moment) => void): Promise<ReplayReport> {
  const { bundle } = run;
  const { about, recording } = bundle;
  const readLike = async (arena: string, like: Words) => wordsLike(run.layout(arena), await run.read(arena), like);
  let steps = 0;
  let first: Drift | undefined;
  for (const [i, segment] of segmentsOf(bundle).entries()) {
    const isPut = i === 0 || segment.cut;
    if (!isPut) {
      for (const [arena, words] of Object.entries(segment.states))
        first ??= compare(bundle, run, arena, words, await readLike(arena, words), segment.start).first;
    }
    // what a call changed between the steps is part of the recording
    if (isPut) await run.put(segment.states, segment.params);
    const stride = segment.actions.length / segment.steps;
    for (let k = 0; k < segment.steps; k++, steps++) {
      const before: Record<string, Words> = {};
      if (keep) for (const arena of Object.keys(segment.states)) before[arena] = await run.read(arena);
      await run.step(segment, k);
      keep?.({
        step: segment.start + k + 1,
        before,
        actions: segment.actions.subarray(k * stride, (k + 1) * stride),
        params: segment.params,
        cut: isPut && k === 0,
        results: numbersOf(run.layout("result"), await run.read("result")),
      });
    }
  }

  const drift: Record<string, number> = {};
  const [here, recorded] = [createHash("sha256"), createHash("sha256")];
  for (const [arena, words] of Object.entries(recording.end)) {
    const now = await readLike(arena, words);
    const [a, b] = [words, now].map((w) => withoutHostWords(bundle, arena, w));
    recorded.update(a);
    here.update(b);
    const compared = compare(bundle, run, arena, a, b, about.steps.last);
    first ??= compared.first;
    Object.assign(drift, compared.drift);
  }
  const [hash, recordedHash] = [here.digest("hex"), recorded.digest("hex")];
  return {
    path: bundle.path,
    identical: hash === recordedHash && first === undefined,
    steps,
    hash,
    recordedHash,
    device: run.batch.deviceName,
    differences: differences(bundle, run),
    first,
    drift,
  };
}

function withoutHostWords(bundle: Bundle, arena: string, words: Words): Words {
  const copy = words.slice();
  if (arena !== "result") return copy;
  const { result } = bundle.about.env;
  const stride = words.length / bundle.recording.worlds.length;
  for (let row = 0; row < words.length; row += stride) for (const name of HOST_WORDS) copy[row + result[name]] = 0;
  return copy;
}

function compare(bundle: Bundle, run: Reexecution, arena: string, recorded: Words, here: Words, step: number) {
  const layout = run.layout(arena);
  const size = recorded.length / bundle.recording.worlds.length;
  const names = layout.fields.flatMap((f) =>
    Array.from({ length: f.perWorld }, (_, element) => ({ name: f.name, element })),
  );
  let first: Drift | undefined;
  const drift: Record<string, number> = {};
  const [a, b] = [numbersOf(layout, recorded), numbersOf(layout, here)];
  for (let i = 0; i < recorded.length; i++) {
    if (Object.is(recorded[i], here[i])) continue;
    const { name, element } = names[i % size];
    const world = bundle.recording.worlds[Math.floor(i / size)];
    first ??= { step, world, field: name, element, recorded: a[i], here: b[i] };
    const error = Math.abs(a[i] - b[i]) / (1 + Math.abs(a[i]));
    drift[name] = Math.max(drift[name] ?? 0, Number.isNaN(error) ? Infinity : error);
  }
  return { first, drift };
}

/** What is not as it was: what runs, where, and the kernel that this version emits of the recorded program. */
function differences(bundle: Bundle, run: Reexecution): Difference[] {
  const { about, trace } = bundle;
  const out: Difference[] = [];
  const compare = (what: Difference["what"], recorded: string, here: string) => {
    if (recorded !== here) out.push({ what, recorded, here });
  };
  compare("driver", about.device.name, run.batch.deviceName);
  compare("precision", about.device.precision === "gpu" ? "gpu" : "cpu", run.batch.adapter ? "gpu" : "cpu");
  const now = versions();
  for (const name of Object.keys(now) as (keyof Versions)[]) compare(name, about[name], now[name]);
  if (about.device.precision === "gpu") {
    const kernel = emittedKernel(bundle);
    compare("shader", about.shader, kernelHashes(kernel, programOf(trace), "gpu").shader);
    if (bundle.cut) compare("pieces", about.batch.cut!.pieces, piecesHash(bundle.cut));
  }
  return out;
}
