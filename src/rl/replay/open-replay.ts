// a replay where the options want it
import { seedKey } from "../../core/rng.ts";
import { FileRows } from "./file-rows.ts";
import { HostRows } from "./host-rows.ts";
import type { DeviceCore } from "../device/device-core.ts";
import { DeviceReplay, HostReplay, type Replay, type ReplayShape } from "./replay.ts";
import { Sampler } from "./sampler.ts";

interface ReplayOptions {
  readonly storage: "gpu" | "host" | "file";
  readonly nSteps: number;
  readonly gamma: number;
}

/** The file of a replay with `storage: "file"`, and whether one that is there is gone on with. */
export interface ReplayFile {
  readonly path: string;
  readonly reuse: boolean;
}

/** @throws BudgetExceededError, host-out-of-memory; replay-exists, disk-full, bad-replay */
export async function openReplay(
  learner: DeviceCore & { readonly shape: ReplayShape },
  { storage, nSteps, gamma }: ReplayOptions,
  seed: number | bigint,
  file: ReplayFile,
): Promise<Replay> {
  const { shape } = learner;
  const { id, numEnvs: worlds, observations, actions } = shape.env;
  if (storage === "gpu") return new DeviceReplay(learner, shape, nSteps);
  const rows = { id, worlds, capacity: shape.capacity, observations, actions };
  const store =
    storage === "host" ? await HostRows.create(rows) : FileRows.open(file.path, rows, { ...file, defer: true });
  const sampler = new Sampler({
    worlds,
    batch: shape.batch,
    observations,
    actions,
    rowFloats: 4 * shape.row4,
    obsFloats: 4 * shape.obs4,
    actionFloats: 4 * shape.actions4,
    nSteps,
    gamma,
    key: seedKey(seed),
  });
  return new HostReplay(learner, shape, store, sampler);
}
