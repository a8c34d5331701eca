// the order of files: those that are alone in their process, then those that take long, so that both workers end together
import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files of 15 seconds and more on two quiet cores, the longest first. */
const LONG = [
  "oracle/env-gymnasium",
  "oracle/stages",
  "faults/memory-limit",
  "oracle/step",
  "shader/env",
  "oracle/forward",
  "faults/collector",
  "unit/runs/train-guide",
  "determinism/resume",
  "oracle/colliders",
  "determinism/env",
  "oracle/features",
  "unit/rl/gradients",
  "unit/package",
  "unit/gpu-compilers",
  "determinism/emission",
  "faults/training-loss",
  "determinism/rl",
  "browser/library",
  "unit/memory/plan-reality",
  "oracle/searched-contacts",
  "browser/site",
  "determinism/crashes",
  "oracle/independent-trees",
  "faults/stress",
  "unit/env/vector-env",
  "determinism/collector",
  "oracle/stiff-models",
  "faults/device-loss",
].map((name) => `/test/${name}.test.ts`);

const longPlaceOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((end) => moduleId.endsWith(end));
  return place < 0 ? LONG.length : place;
};

/** A process that files share ends where the next one is alone, and another one has to load and warm up what it had. */
const isAlone = ({ moduleId }: TestSpecification): boolean =>
  /^\/\/.*@vitest-environment-options/m.test(readFileSync(moduleId, "utf8"));

/** Vitest's order otherwise. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(files.map((file) => [file, (isAlone(file) ? -LONG.length - 1 : 0) + longPlaceOf(file)]));
    return (await super.sort(files)).sort((a, b) => places.get(a)! - places.get(b)!);
  }
}
