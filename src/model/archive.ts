// models in a zip: its files, and which of them is the model
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { CorralError } from "../core/errors.ts";
import { formatBytes } from "../core/units.ts";

/** Bytes that an archive may unpack to. */
const MOST = 2 ** 30;
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3;

const bad = (name: string, why: string): CorralError =>
  new CorralError("bad-archive", `"${name}" is a zip that cannot be read: ${why}. Unpack it, and pass the XML file.`, {
    file: name,
  });

/**
 * Files of a zip by path, with "/" and without "." and "..".
 * @throws CorralError bad-archive
 */
export function unpackZip(bytes: Uint8Array, name: string): Record<string, Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw bad(name, "its directory is missing, so it was cut short");
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const files: [string, Uint8Array][] = [];
  let total = 0;
  try {
    for (let i = 0; i < count; i++) {
      if (view.getUint32(at, true) !== ENTRY) throw bad(name, "its directory is damaged");
      const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
      const [packed, size] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
      const [length, extra, comment] = [28, 30, 32].map((k) => view.getUint16(at + k, true));
      const local = view.getUint32(at + 42, true);
      const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + length)).replaceAll("\\", "/");
      at += 46 + length + extra + comment;
      if (path.endsWith("/")) continue;
      if ((flags & 1) !== 0) throw bad(name, `${path} is encrypted`);
      if (method !== STORED && method !== DEFLATED) throw bad(name, `${path} is packed by method ${method}`);
      total += size;
      if (total > MOST) throw bad(name, `it unpacks to more than ${formatBytes(MOST)}`);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const data = bytes.subarray(start, start + packed);
      const content =
        method === STORED ? data.slice() : new Uint8Array(inflateRawSync(data, { maxOutputLength: Math.max(1, size) }));
      const parts = path.split("/").filter((part) => part !== "" && part !== ".");
      if (parts.includes("..")) throw bad(name, `${path} leads out of it`);
      files.push([parts.join("/"), content]);
    }
  } catch (error) {
    if (error instanceof CorralError) throw error;
    throw bad(name, error instanceof Error ? error.message : String(error));
  }
  return Object.fromEntries(files);
}

/** 1 January 2020, so that the same files are the same bytes. */
const DATE = ((2020 - 1980) << 9) | (1 << 5) | 1;
/** Version 2.0 of the format; names are UTF-8. */
const VERSION = 20;
const UTF8 = 1 << 11;

/** A zip of files by path, deflated. What it takes is less than 4 GiB. */
export function packZip(files: Readonly<Record<string, Uint8Array>>): Uint8Array<ArrayBuffer> {
  const bodies: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let at = 0;
  for (const [path, content] of Object.entries(files)) {
    const [name, packed] = [Buffer.from(path), deflateRawSync(content)];
    // what the file's own header and its entry in the directory have in common
    const common = Buffer.alloc(26);
    [VERSION, UTF8, DEFLATED, 0, DATE].forEach((value, i) => common.writeUInt16LE(value, 2 * i));
    [crc32(content), packed.length, content.length].forEach((value, i) => common.writeUInt32LE(value, 10 + 4 * i));
    common.writeUInt16LE(name.length, 22);
    const body = [word(LOCAL), common, name, packed];
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    entries.push(word(ENTRY), Uint8Array.of(VERSION, 0), common, rest, name);
    bodies.push(...body);
    at += body.reduce((sum, { length }) => sum + length, 0);
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  return Uint8Array.from(Buffer.concat([...bodies, directory, word(END), end]));
}

function word(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return out;
}

/** The model among the files of an archive: the only one that no other includes, of those nearest to its root. */
export function modelIn(files: Readonly<Record<string, Uint8Array>>, name: string): string {
  const models = Object.entries(files).flatMap(([path, content]) => {
    if (!/\.(xml|mjcf|urdf)$/i.test(path) || path.startsWith("__MACOSX/")) return [];
    const text = new TextDecoder().decode(content);
    return /<(mujoco|robot)[\s>]/.test(text) ? [{ path, text }] : [];
  });
  const base = (path: string) => path.replace(/^.*\//, "");
  const included = new Set(
    models.flatMap(({ text }) =>
      [...text.matchAll(/<(?:include|model)\b[^>]*\bfile\s*=\s*["']([^"']*)["']/g)].map(([, file]) => base(file)),
    ),
  );
  const roots = models.filter(({ path }) => !included.has(base(path)));
  const depth = (path: string) => path.split("/").length;
  const least = Math.min(...roots.map(({ path }) => depth(path)));
  const nearest = roots.map(({ path }) => path).filter((path) => depth(path) === least);
  if (nearest.length === 1) return nearest[0];
  if (nearest.length === 0)
    throw new CorralError("missing-file", `"${name}" holds no MJCF or URDF file.`, { file: name });
  const shown = nearest.slice(0, 12).join(", ");
  throw new CorralError(
    "several-models",
    `"${name}" holds ${nearest.length} models: ${shown}. Say which: "${name}/${nearest[0]}".`,
    { file: name, models: nearest },
  );
}
