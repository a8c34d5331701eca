// values of earlier processes in files of the cache folder: what cannot be read, or is not what was written, is not there
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Deserializer, Serializer } from "node:v8";
import { writeCached } from "./cached-file.ts";

/** A digest of parts, each with its length: 64 characters. */
export function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex");
}

/** What stands for all files of a folder where they are bundled: tools/bundle.mjs writes it. */
const DIGEST = "sources.sha256";

/** The bytes of all files of a folder and below it, in the order of their names. */
export function sourcesIn(folder: string): Buffer[] {
  const digest = join(folder, DIGEST);
  if (existsSync(digest)) return [readFileSync(digest)];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => readFileSync(file));
}

/** The value of a file; undefined if there is none. */
export function readCachedValue(file: string): unknown {
  try {
    const bytes = readFileSync(file);
    const body = bytes.subarray(64);
    if (digestOf(body) !== bytes.toString("latin1", 0, 64)) return undefined;
    const reader = new Deserializer(body);
    reader.readHeader();
    return reader.readValue();
  } catch {
    return undefined;
  }
}

/** What a folder of values holds. */
export interface CacheLimits {
  /** Files. */
  readonly most: number;
  /** Bytes of one; a larger value is not kept. */
  readonly mostBytes: number;
  /** Bytes of all of them. */
  readonly mostInAll: number;
}

/** Keeps a value, and of the folder's files the newest that its limits allow. Never fails a run. */
export function cacheValue(file: string, value: unknown, { most, mostBytes, mostInAll }: CacheLimits): void {
  try {
    // not v8.serialize, whose arrays share one buffer when they are read
    const writer = new Serializer();
    writer.writeHeader();
    writer.writeValue(value);
    const body = writer.releaseBuffer();
    if (body.length > mostBytes) return;
    writeCached(file, Buffer.concat([Buffer.from(digestOf(body), "latin1"), body]));
    const folder = dirname(file);
    const files = readdirSync(folder).map((name) => {
      const path = join(folder, name);
      const { mtimeMs, size } = statSync(path);
      return { path, at: mtimeMs, size };
    });
    let bytes = 0;
    for (const [i, { path, size }] of files.sort((a, b) => b.at - a.at).entries()) {
      bytes += size;
      if (i >= most || bytes > mostInAll) rmSync(path, { force: true });
    }
  } catch {
    // the next process makes it again
  }
}
