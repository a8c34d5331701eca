// digests and packed bytes, as this machine makes them
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

/** SHA-256 of bytes and texts one after the other, in hex. */
export function sha256(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

export const gzip = async (bytes: Uint8Array): Promise<Uint8Array> => gzipSync(bytes, { level: 4 });
