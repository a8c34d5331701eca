// emitted kernels for reading: their text by stage, and what each stage costs
import { inLine } from "../../core/show.ts";
import { CorralError } from "../../core/errors.ts";
import { nearest } from "../../core/names.ts";
import type { PlannedBatch } from "../batch.ts";
import { STAGES, type StageRow } from "../../physics/stages.ts";
import { costOf, type Cost } from "../../trace/cost.ts";

/** A marked part of a kernel's text. */
export interface StageText {
  readonly name: string;
  readonly text: string;
}

/** Splits WGSL at the marks of its stages, `// name` on a line of its own; what comes before the first is "entry". */
export function stagesOf(wgsl: string): StageText[] {
  const [title, ...lines] = wgsl.split("\n");
  const parts: { name: string; lines: string[] }[] = [{ name: "entry", lines: [title] }];
  for (const line of lines) {
    const mark = /^\s*\/\/ (\S.*)$/.exec(line)?.[1];
    if (mark !== undefined) parts.push({ name: mark, lines: [] });
    parts[parts.length - 1].lines.push(line);
  }
  return parts.map(({ name, lines: text }) => ({ name, text: text.join("\n").trimEnd() }));
}

export interface Inspection {
  readonly name: string;
  readonly kernel: string;
  /** Kernels there are, and stages of this one in the order of the text. */
  readonly kernels: readonly string[];
  readonly stages: readonly string[];
  readonly wgsl: string;
  readonly cost: Cost;
  /** What the stage that was asked for declares, if it is one of the physics. */
  readonly declared: StageRow | undefined;
}

function unknown(what: string, name: string, known: readonly string[]): CorralError {
  const near = nearest(name, known);
  const hint = near.length > 0 ? `nearest: ${near.join(", ")}` : `there are: ${known.join(", ")}`;
  return new CorralError(`unknown-${what}`, `there is no ${what} "${inLine(name)}"; ${hint}.`, { name, known });
}

/**
 * The text and the costs of a kernel, whole or of one stage.
 * @throws CorralError unknown-kernel, unknown-stage
 */
export function inspect(planned: PlannedBatch, kernel = "step", stage?: string): Inspection {
  const traced = planned.traces.get(kernel);
  const kernels = [...planned.traces.keys()];
  if (!traced) throw unknown("kernel", kernel, kernels);
  const { code } = planned.kernels.get(kernel)!;
  const parts = stagesOf(code);
  const stages = [...new Set(parts.map((p) => p.name))];
  if (stage !== undefined && !stages.includes(stage)) throw unknown("stage", stage, stages);
  const wgsl =
    stage === undefined
      ? code
      : parts
          .filter((p) => p.name === stage)
          .map((p) => p.text)
          .join("\n\n");
  const declared = (STAGES as Readonly<Record<string, StageRow>>)[stage ?? ""];
  return { name: planned.spec.name, kernel, kernels, stages, wgsl, cost: costOf(traced), declared };
}
