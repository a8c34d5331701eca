// small training runs, and what is left of them
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { VecSnapshot } from "../../src/env/host/vector-env.ts";
import { lastCheckpoint } from "../../src/runs/checkpoints.ts";
import { LOG_FILE, RunFolder } from "../../src/runs/folder.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import type { TrainOptions } from "../../src/runs/options.ts";

/** 12 updates of 64 env steps each. */
export const UPDATES = 12;
export const TINY: TrainOptions = {
  numEnvs: 8,
  steps: 64 * UPDATES,
  seed: 3,
  evalEnvs: 2,
  evalEvery: 4,
  checkpointEvery: 5,
  snapshotEvery: 2,
  config: { rolloutSteps: 8, hidden: [8], minibatches: 2, epochs: 2 },
};

/** Thrown by a run that is cut off. */
export class CutOff extends Error {}

/** Cuts a run off after an update. */
export const cutAfter = (update: number) => (iteration: number) => {
  if (iteration >= update) throw new CutOff();
};

/** Trains a run with a folder; returns what was said. */
export async function trainRun(
  folder: string,
  run: TrainingRun,
  onUpdate?: (iteration: number) => void,
): Promise<string[]> {
  const said: string[] = [];
  const log = RunFolder.create(folder, run, { onFailure: (line) => said.push(line) });
  try {
    const result = await run.train({
      onProgress: (p) => {
        log.progress(p);
        onUpdate?.(p.iteration);
      },
      onCheckpoint: (state) => log.checkpoint(state),
      onEvent: (event) => log.event(event),
      onNonFinite: (evidence, error) => log.evidence(evidence, error),
    });
    log.result(result);
  } finally {
    log.close();
  }
  return said;
}

/** Makes a run and trains it with a folder. */
export async function trainInto(
  folder: string,
  id: string,
  options = TINY,
  onUpdate?: (iteration: number) => void,
): Promise<string[]> {
  await using run = await TrainingRun.create(id, options);
  // the run is closed only once it has ended
  return await trainRun(folder, run, onUpdate);
}

type Line = Readonly<Record<string, unknown>>;

export const logOf = (folder: string): Line[] =>
  readFileSync(join(folder, LOG_FILE), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

const TIMES = new Set(["seconds", "envStepsPerSec", "secondsLeft"]);

/** The log without what differs between two runs of the same bits: times, and events. */
export const bitsOf = (folder: string): Line[] =>
  logOf(folder)
    .filter((line) => !("event" in line))
    .map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !TIMES.has(name))));

/** All that a run's last checkpoint holds, times aside. */
export function stateOf(folder: string): object {
  const { seconds: _, ...state } = lastCheckpoint(folder).checkpoint.state;
  return state;
}

/** What a run's last checkpoint holds of learner and worlds, as words. */
export function wordsOf(folder: string): Record<string, Uint32Array> {
  const { snapshot } = lastCheckpoint(folder).checkpoint.state;
  const worlds = Object.entries((snapshot.env as VecSnapshot).batch.arenas);
  return {
    ...snapshot.learner,
    ...Object.fromEntries(worlds.map(([name, { records }]) => [name, records.u32 as Uint32Array])),
  };
}
