// what went wrong in which worlds, out of the records of a batch
import type { Plan } from "../memory/plan.ts";
import { layoutsOf, type HostRecords } from "./batch.ts";
import { takeField } from "./host-records.ts";
import { statusNames, type StatusName } from "../physics/status.ts";

/** What went wrong in a world. */
export interface WorldStatus {
  readonly world: number;
  readonly names: readonly StatusName[];
  /** Contacts that an evaluation found, at most; absent if there is room for all that there can be. */
  readonly contactsNeeded?: number;
}

/** Worlds whose status word is not zero. `recordsOf` gives a shard's records of the arena `derived`. */
export function failedWorlds(plan: Plan, recordsOf: (shard: number) => HostRecords): WorldStatus[] {
  const layout = layoutsOf(plan).derived;
  const words = new Uint32Array(layout.fields.find(({ name }) => name === "status")!.perWorld);
  const failed: WorldStatus[] = [];

  for (const shard of plan.shards) {
    const records = recordsOf(shard.index);
    for (let local = 0; local < shard.worlds; local++) {
      takeField(layout, "status", shard, local, records, words, 0, true);
      if (words[0] === 0) continue;
      const contacts = words.length > 1 ? { contactsNeeded: words[1] } : {};
      failed.push({ world: shard.firstWorld + local, names: statusNames(words[0]), ...contacts });
    }
  }

  return failed;
}
