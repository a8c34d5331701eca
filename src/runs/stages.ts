// stages of a run, checked as one before the first begins
import { shapesOf } from "../rl/networks/networks.ts";
import { makeFitting } from "./fit.ts";
import { envConfig, type TrainOptions } from "./options.ts";
import { RunPlanner } from "./plan.ts";
import { columnsFrom, readStart, startingFrom, type Start, type StartFacts } from "./start.ts";

/** One of runs that go one after the other, each from what the one before has learnt. */
export interface Stage {
  /** What errors call it. */
  readonly name: string;
  readonly id: string;
  readonly options: TrainOptions;
}

/**
 * Plans stages in their order, the first from its `from`: each fits the budget, and can start from the one before it.
 * Nothing is allocated.
 * @throws CorralError does-not-fit; what `TrainingRun.create` throws for its arguments; BudgetExceededError
 */
export async function assertStages(stages: readonly Stage[]): Promise<void> {
  let before: (StartFacts & { readonly shapes: ReturnType<typeof shapesOf> }) | undefined;
  for (const { name, id, options } of stages) {
    const { from } = options;
    const start = before ? { ...before, who: name } : from === undefined ? undefined : readStart(from);
    const { from: _, ...own } = start ? startingFrom(start, options) : options;
    await makeFitting(id, { onOverBudget: "shrink", ...own, onShrink: () => {} }, () => Promise.resolve());
    const planner = await RunPlanner.create(id, own);
    const { config, shapes } = planner.networks();
    if (start) {
      const there = before?.shapes ?? shapesOf((start as Start).named);
      await columnsFrom({ ...start, who: before ? name : "a run" }, there, { id, shapes, seen: planner.seen });
    }
    before = {
      path: name,
      config: { ...config, ...envConfig(own.env ?? {}), env: id, algo: own.algo ?? "ppo" },
      shapes,
    };
  }
}
