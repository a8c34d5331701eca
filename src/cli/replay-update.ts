// `corral replay` of an update that was stopped

import { corralVersion } from "../core/version.ts";
import { defaultThreads } from "../core/host.ts";
import { AdapterUnavailableError } from "../core/errors.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { reexecuteUpdate } from "../rl/ppo/reexecute.ts";
import { reexecuteDqn } from "../rl/dqn/reexecute.ts";
import { reexecuteSac } from "../rl/sac/reexecute.ts";
import { reexecuteSacDiscrete } from "../rl/sac-discrete/reexecute.ts";
import type { AnyEvidence } from "../rl/algorithm.ts";
import type { LearnerDevice } from "../rl/device/learner-device.ts";
import { kernelsHash, readUpdateBundle } from "../runs/update-bundle.ts";
import { EXIT, print, printJson, UsageError } from "./io.ts";
import { table } from "./table.ts";
import type { deviceOf } from "./target.ts";
import type { UpdateReplay, BadQuantity } from "../rl/device/not-finite.ts";

type Where = ReturnType<typeof deviceOf>;

/** The adapter that an update is executed on: none if it was recorded without one or is to be, or if there is none. */
async function leaseFor(recorded: string, { device = "auto", adapter }: Where): Promise<DeviceLease | undefined> {
  if (device === "cpu" || device === "cpu-f64")
    throw new UsageError(
      `--device is '${device}', and the bundle is of an update, which the learner's kernels make: pass gpu or wasm.`,
    );
  if (device === "wasm" && adapter !== undefined)
    throw new UsageError(`--adapter is '${adapter}', and --device wasm has none: leave one of them out.`);
  const isAuto = device === "auto" && adapter === undefined;
  if (device === "wasm" || (isAuto && recorded.startsWith("wasm"))) return undefined;
  return shareDevice(adapter).catch((error: unknown) => {
    if (isAuto && error instanceof AdapterUnavailableError) return undefined;
    throw error;
  });
}

function reexecute(device: LearnerDevice, evidence: AnyEvidence): Promise<UpdateReplay> {
  if (!("algo" in evidence)) return reexecuteUpdate(device, evidence);
  switch (evidence.algo) {
    case "sac":
      return reexecuteSac(device, evidence);
    case "sac-discrete":
      return reexecuteSacDiscrete(device, evidence);
    case "dqn":
      return reexecuteDqn(device, evidence);
  }
}

/** Executes it again and says what became not finite first. Returns the exit code. */
export async function replayUpdate(path: string, where: Where, json: boolean): Promise<number> {
  const { about, evidence } = readUpdateBundle(path);
  const lease = await leaseFor(about.device, where);
  const device = lease?.gpu ?? { threads: where.threads ?? defaultThreads() };
  try {
    const replay = await reexecute(device, evidence);
    const differences = [
      // threads change no bit
      ["driver", about.device, lease || !about.device.startsWith("wasm") ? replay.device : about.device],
      ["corral", about.corral, corralVersion()],
      ["kernels", about.kernels, kernelsHash()],
    ].filter(([, recorded, here]) => recorded !== here);
    const first = replay.bad.at(0);
    if (json) {
      printJson({
        bundle: about,
        replay: { ...replay, first: first ?? null, otherwise: differences.map(([what]) => what) },
      });
    } else {
      const ended = replay.identical
        ? `identical: the update is stopped in minibatch ${replay.minibatch + 1} of ${replay.minibatches}, by its ${replay.halted}`
        : `NOT identical: stopped by its ${replay.halted}, recorded ${replay.recorded}; ${replay.differences.join(", ")} end otherwise`;
      print([about.message, "", ended].join("\n"));
      for (const [what, recorded, here] of differences) print(`  ${what}: recorded with ${recorded}, here ${here}`);
      print(first ? `\nfirst not finite: ${describe(first)}` : "\nnothing was not finite here");
      const rows = replay.bad.map((b) => [b.stage, b.name, b.at, String(b.value), String(b.count)]);
      if (rows.length > 1) print(`\nall of it, in the order in which it was computed:\n${table(rows, 3)}`);
    }
    return replay.identical ? EXIT.done : EXIT.failed;
  } finally {
    lease?.release();
  }
}

function describe({ stage, name, at, value, count }: BadQuantity): string {
  const where = at === "" ? "" : ` of ${at}`;
  const more = count > 1 ? `, and ${count - 1} more` : "";
  return `${name}${where} = ${value}${more} (${stage})`;
}
