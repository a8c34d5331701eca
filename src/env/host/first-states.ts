// what worlds have before their first reset: who they are, and that they have begun nothing
import { seedKey } from "../../core/rng.ts";
import { hostRecords, layoutsOf, type Batch } from "../../batch/batch.ts";
import { putField } from "../../batch/host-records.ts";

/** Bytes that are made at a time: the state of all worlds would be as large again on the host. */
const PIECE_BYTES = 2 ** 20;

/** Writes the seed and the id of every world; its first reset begins episode 0. */
export async function writeFirstStates(
  batch: Batch,
  seed: number | bigint,
  worldIds: readonly number[],
): Promise<void> {
  const { plan } = batch.planned;
  const layout = layoutsOf(plan).state;
  const { tileWidth, bytesPerWorld } = layout;
  const onCpu = batch.doubles;
  const most = tileWidth * Math.ceil(PIECE_BYTES / bytesPerWorld / tileWidth);
  const [low, high] = seedKey(seed);

  for (const shard of plan.shards) {
    for (let first = 0; first < shard.paddedWorlds; first += most) {
      const paddedWorlds = Math.min(most, shard.paddedWorlds - first);
      const worlds = Math.min(paddedWorlds, shard.worlds - first);
      const firstWorld = shard.firstWorld + first;
      const piece = { index: shard.index, firstWorld, worlds, paddedWorlds };
      const records = hostRecords((bytesPerWorld / 4) * paddedWorlds, onCpu);
      for (let local = 0; local < worlds; local++) {
        const words = [low, high, worldIds[firstWorld + local], 0xffffffff, 0, 0];
        putField(layout, "episode", piece, local, records, words, 0, true);
      }
      await batch.write("state", shard.index, records, (bytesPerWorld / 4) * first);
    }
  }
}
