// the order of files: those that are alone in their process, then those that take long, so that both workers end together
import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take most, 5 seconds of processor time and more where a run took 900, the longest first. */
const LONG = [
  "oracle/env-gymnasium",
  "unit/package",
  "faults/collector",
  "shader/env",
  "oracle/stages",
  "faults/memory-limit",
  "unit/runs/train-guide",
  "unit/memory/plan-reality",
  "determinism/resume",
  "faults/training-loss",
  "determinism/rl",
  "learning/shipped-policies",
  "determinism/emission",
  "determinism/env",
  "unit/gpu-compilers",
  "faults/stress",
  "oracle/island-lines",
  "determinism/wasm-hashes",
  "oracle/step",
  "faults/device-loss",
  "determinism/crashes",
  "unit/env/footing",
  "unit/export/export",
  "oracle/features",
  "oracle/float64-steps",
  "unit/rl/gradients",
  "unit/cli/demo",
  "unit/rl/wasm-learner",
  "unit/rl/recurrent",
  "oracle/dual-solvers",
  "unit/cli/your-first-task",
  "property/env-tasks",
  "faults/run-ends",
  "browser/view",
  "faults/non-finite-batches",
  "browser/growth",
  "faults/host-side",
  "faults/bundles",
  "unit/runs/plan-wasm",
  "unit/scaffold/robots-that-differ",
  "unit/scaffold/read-meshes",
  "property/mjcf-mutants",
  "unit/rl/large-actions",
  "unit/batch/tuning",
  "faults/non-finite-update",
  "oracle/many-trees",
  "oracle/many-contacts",
  "oracle/searched-contacts",
  "unit/env/vector-env",
  "faults/lives-faults",
  "oracle/driven-crashes",
  "browser/library",
  "determinism/async-ppo",
  "unit/rl/sac-gradients",
  "oracle/colliders",
  "oracle/stiff-models",
  "unit/runs/plan-run",
  "unit/model/large-scenes",
  "unit/rl/sampling",
  "determinism/collector",
  "oracle/heaps",
  "oracle/env-randomise",
  "oracle/env-dm-control",
  "property/invariance",
  "unit/rl/wasm-learner-threads",
  "property/bundle-mutants",
  "oracle/margin-places",
  "unit/cli/doctor",
  "oracle/compare",
  "oracle/independent-trees",
  "oracle/discrete",
  "browser/site",
  "unit/cli/clone",
  "oracle/drift-monitor",
  "unit/model/model",
  "property/run-mutants",
  "oracle/forward",
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
