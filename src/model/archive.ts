// models in a zip: its files, and which of them is the model
import { inLine, listed } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { formatBytes } from "../core/units.ts";

/** Bytes that an archive may unpack to. */
const MOST = 2 ** 30;
/** Bytes of an XML: a text of twice as many is none that JavaScript holds. */
const MOST_XML = 2 ** 28;
/** Words that parts of a zip begin with. */
const [ENTRY, END] = [0x02014b50, 0x06054b50];
const STORED = 0;
const DEFLATED = 8;

const bad = (name: string, why: string): CorralError =>
  new CorralError("bad-archive", `"${name}" is a zip that cannot be read: ${why}. Unpack it, and pass the XML file.`, {
    file: name,
    why,
  });

/** A file of a zip whose CRC-32 is another than the zip says. */
export const altered = (path: string): Error => new Error(`${inLine(path)} has other bytes than were packed`);

/** A file of a zip as it lies there. */
export interface ZipEntry {
  /** With "/" and without "." and "..". */
  readonly path: string;
  readonly data: Uint8Array;
  readonly isDeflated: boolean;
  /** Bytes unpacked, and their CRC-32, by what the zip says. */
  readonly size: number;
  readonly crc: number;
}

/** Which files of a zip are unpacked. */
export type Wanted = (file: Pick<ZipEntry, "path" | "size">) => boolean;

/**
 * The files of a zip, packed, or those of them that are wanted: together they unpack to 1 GiB at most.
 * @throws CorralError bad-archive
 */
export function zipEntries(bytes: Uint8Array, name: string, wanted: Wanted = () => true): ZipEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw bad(name, "its directory is missing, so it was cut short");
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const files: ZipEntry[] = [];
  let total = 0;
  try {
    for (let i = 0; i < count; i++) {
      if (view.getUint32(at, true) !== ENTRY) throw bad(name, "its directory is damaged");
      const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
      const [crc, packed, size] = [16, 20, 24].map((k) => view.getUint32(at + k, true));
      const [length, extra, comment] = [28, 30, 32].map((k) => view.getUint16(at + k, true));
      const local = view.getUint32(at + 42, true);
      const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + length)).replaceAll("\\", "/");
      at += 46 + length + extra + comment;
      if (path.endsWith("/")) continue;
      const parts = path.split("/").filter((part) => part !== "" && part !== ".");
      if (parts.includes("..")) throw bad(name, `${inLine(path)} leads out of it`);
      const file = { path: parts.join("/"), size };
      if (!wanted(file)) continue;
      if ((flags & 1) !== 0) throw bad(name, `${inLine(path)} is encrypted`);
      if (method !== STORED && method !== DEFLATED) throw bad(name, `${inLine(path)} is packed by method ${method}`);
      total += size;
      if (total > MOST) throw bad(name, `it unpacks to more than ${formatBytes(MOST)}`);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const data = bytes.subarray(start, start + packed);
      files.push({ ...file, data, isDeflated: method === DEFLATED, crc });
    }
  } catch (error) {
    throw unreadable(error, name);
  }
  return files;
}

/** What went wrong in a zip, in words. */
export const unreadable = (error: unknown, name: string): CorralError =>
  error instanceof CorralError ? error : bad(name, error instanceof Error ? error.message : String(error));

/** The model among the files of an archive: the only one that no other includes, of those nearest to its root. */
export function modelIn(files: Readonly<Record<string, Uint8Array>>, name: string): string {
  const models = Object.entries(files).flatMap(([path, content]) => {
    if (!/\.(xml|mjcf|urdf)$/i.test(path) || path.startsWith("__MACOSX/")) return [];
    if (content.length > MOST_XML)
      throw bad(name, `${inLine(path)} has ${formatBytes(content.length)}, an XML at most ${formatBytes(MOST_XML)}`);
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
  const shown = listed(nearest.slice(0, 12));
  throw new CorralError(
    "several-models",
    `"${name}" holds ${nearest.length} models: ${shown}. Say which: "${name}/${inLine(nearest[0])}".`,
    { file: name, models: nearest },
  );
}
