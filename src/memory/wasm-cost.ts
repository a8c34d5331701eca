// the bytes of a batch in memories of WebAssembly as a function of its tiles: whole pages, lists of worlds, threads
export const PAGE_BYTES = 65536;
/** Pages of one memory at most. */
export const MOST_PAGES = 65536;
/** Where each part of a memory begins: a cache line. */
export const LINE_BYTES = 64;
export const lines = (bytes: number): number => Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;

/** Two lists of a word for each world: the order in which they run, and their effort. */
export const LISTS = 2;
/** A vector may reach beyond the last world. */
export const listWords = (worlds: number): number => worlds + 4;

/** What the bytes depend on beside the tiles. */
export interface WasmCost {
  /** Bytes before the first shard of each memory, and those of a frame, of which each thread has one there. */
  readonly fixed: number;
  readonly frame: number;
  /** Bytes of each arena, once in a shard and for a tile. */
  readonly arenas: readonly { readonly shared: number; readonly perTile: number }[];
  /** Threads beside the calling one at most, and the tiles from which on there are any. */
  readonly mostThreads: number;
  readonly threadsFrom: number;
  readonly threadBytes: number;
}

/** Bytes of one shard. */
function shardBytes({ arenas }: WasmCost, tiles: number, tileWidth: number): number {
  const lists = LISTS * lines(4 * listWords(tiles * tileWidth));
  return arenas.reduce((sum, { shared, perTile }) => sum + lines(shared + tiles * perTile), lists);
}

/** Bytes of a batch of so many tiles in so many shards. */
export function wasmBytes(of: WasmCost, tiles: number, shards: number, tileWidth: number): number {
  const threads = tiles >= of.threadsFrom ? Math.min(of.mostThreads, tiles) : 0;
  const fixed = of.fixed + (threads + 1) * of.frame;
  const least = Math.floor(tiles / shards);
  const [small, large] = [least, least + 1].map((t) => shardBytes(of, t, tileWidth));
  let pages = 0;
  let end = 0;
  for (let shard = 0; shard < shards; shard++) {
    const size = shard < tiles % shards ? large : small;
    if (shard === 0 || end + size > MOST_PAGES * PAGE_BYTES) {
      pages += Math.ceil(end / PAGE_BYTES);
      end = fixed;
    }
    end += size;
  }
  return (pages + Math.ceil(end / PAGE_BYTES)) * PAGE_BYTES + threads * of.threadBytes;
}
