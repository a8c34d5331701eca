// reads chosen files out of an uncompressed tar archive held in memory

const BLOCK = 512;

/** The regular files called `names`, by their base name. Missing ones are absent from the result. */
export function filesFromTar(tar: Uint8Array, names: readonly string[]): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  let at = 0;
  while (at + BLOCK <= tar.length) {
    const name = text(tar, at, 100).split("/").at(-1) ?? "";
    const size = Number.parseInt(text(tar, at + 124, 12).trim() || "0", 8);
    const kind = text(tar, at + 156, 1);
    if (!Number.isFinite(size)) break;
    const start = at + BLOCK;
    if ((kind === "0" || kind === "") && names.includes(name)) found.set(name, tar.subarray(start, start + size));
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  return found;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString("latin1");
  const end = raw.indexOf("\0");
  return end < 0 ? raw : raw.slice(0, end);
}
