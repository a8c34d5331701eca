// folders written atomically: under another name, then renamed, with the size and the SHA-256 of
// every file in `manifest.json`, and that of the manifest in `manifest.sha256`.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { makeFolder } from "../core/make-folder.ts";
import { readBytes } from "../core/read-bytes.ts";
import { integer, Mismatch, object, record, text } from "../core/schema.ts";
import { show } from "../core/show.ts";
import { formatBytes } from "../core/units.ts";
import { reasonOf, writeSynced } from "../core/write-bytes.ts";
import { pack, unpack } from "./pack.ts";

/** Format of a bundle; a reader refuses what is newer than itself. */
const BUNDLE_VERSION = 2;
const FORMAT = "corral-bundle";
/** Folders of writers that were killed. */
const PARTIAL = /^\.partial-(\d+)-/;

export interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

export interface Sealed {
  readonly path: string;
  readonly about: Readonly<Record<string, unknown>>;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function removePartial(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = PARTIAL.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

let written = 0;

/**
 * Writes a folder `name` in `directory`, whole or not at all. Returns its path, with a number after the name where there
 * is one of that name.
 * @throws CorralError bundle-too-large, bundle-not-written; then nothing is left
 */
export function writeSealed(
  directory: string,
  name: string,
  about: Readonly<Record<string, unknown>>,
  files: ReadonlyMap<string, Uint8Array>,
  maxBytes: number,
): string {
  const entries: Record<string, FileEntry> = {};
  for (const [file, bytes] of files) entries[file] = { bytes: bytes.length, sha256: sha256(bytes) };
  const manifest = pack({ format: FORMAT, version: BUNDLE_VERSION, ...about, files: entries }, 1);
  const total = [...files.values()].reduce((sum, { length }) => sum + length, manifest.length);
  if (total > maxBytes) {
    throw new CorralError(
      "bundle-too-large",
      `the bundle ${name} needs ${formatBytes(total)}, recorder.maxBytes is ${formatBytes(maxBytes)}. Raise it, or lower recorder.maxWorlds, everySteps or keep.`,
      { name, bytes: total, maxBytes },
    );
  }

  const partial = join(directory, `.partial-${process.pid}-${written++}`);
  try {
    makeFolder(directory);
    removePartial(directory);
    mkdirSync(partial);
    for (const [file, bytes] of files) {
      mkdirSync(dirname(join(partial, file)), { recursive: true });
      writeSynced(join(partial, file), "wx", bytes);
    }
    writeSynced(join(partial, "manifest.json"), "wx", manifest);
    writeSynced(
      join(partial, "manifest.sha256"),
      "wx",
      new TextEncoder().encode(`${sha256(manifest)}  manifest.json\n`),
    );
    let path = join(directory, name);
    for (let i = 2; existsSync(path); i++) path = join(directory, `${name}-${i}`);
    renameSync(partial, path);
    return path;
  } catch (cause) {
    try {
      rmSync(partial, { recursive: true, force: true });
    } catch {
      // the place is gone; the next writer removes what is left
    }
    throw new CorralError(
      "bundle-not-written",
      `the bundle ${name} was not written to ${directory} (${reasonOf(cause)}). Free the disk, or pass recorder.directory, a folder that can be written.`,
      { name, directory, reason: reasonOf(cause) },
      { cause },
    );
  }
}

/** A bundle that is not what was written. */
export const corrupt = (path: string, text: string, details: object = {}): CorralError =>
  new CorralError("bundle-corrupt", `${path}: ${text}. Copy the bundle again from where it was written.`, {
    path,
    ...details,
  });

/**
 * Reads a folder and checks every byte of it.
 * @throws CorralError no-bundle, bundle-newer, bundle-corrupt
 */
export function readSealed(path: string): Sealed {
  if (typeof path !== "string")
    throw new CorralError("no-bundle", `${show(path)} is no bundle. Pass the folder that corral wrote.`, { path });
  const file = join(path, "manifest.json");
  if (!existsSync(file)) {
    const what = !existsSync(path)
      ? "there is nothing"
      : statSync(path).isDirectory()
        ? "there is no manifest.json in it"
        : "it is no folder";
    throw new CorralError("no-bundle", `${path} is no bundle: ${what}. Pass the folder that corral wrote.`, { path });
  }
  const bytes = read(path, "manifest.json", MOST_MANIFEST);
  const manifest = unpack(bytes, file);
  const { format, version, files, ...about } = Object(manifest) as Record<string, unknown>;
  if (format !== FORMAT) throw new CorralError("no-bundle", `${file} is not that of a corral bundle.`, { path });
  // a newer format may be sealed in another way: check the format first
  if (typeof version !== "number" || !(version <= BUNDLE_VERSION)) {
    throw new CorralError(
      "bundle-newer",
      `${path} has format ${show(version)}, this corral reads ${BUNDLE_VERSION} and older. Install the corral that wrote it (${show(about.corral)}) or a newer one.`,
      { path, version, reads: BUNDLE_VERSION },
    );
  }
  const [seal] = new TextDecoder().decode(read(path, "manifest.sha256", 256)).split(" ");
  if (seal !== sha256(bytes)) throw corrupt(path, "manifest.json does not have the checksum in manifest.sha256");

  const found = new Map<string, Uint8Array>();
  for (const [name, entry] of Object.entries(entriesOf(path, files))) {
    const content = read(path, name);
    if (content.length !== entry.bytes)
      throw corrupt(path, `${name} has ${content.length} bytes, ${entry.bytes} were written`, { file: name });
    if (sha256(content) !== entry.sha256)
      throw corrupt(path, `${name} does not have the checksum it was written with`, { file: name });
    found.set(name, content);
  }
  return { path, about, files: found };
}

/** Whether a folder says that it is a bundle. */
export const isBundlePath = (path: string): boolean => existsSync(join(path, "manifest.json"));

/** Bytes of a manifest at most. */
export const MOST_MANIFEST = 2 ** 26;

const entryKind = object<FileEntry>({ bytes: integer(0), sha256: text(64) });

/** Whether a path stays within its folder, on every system: bundles come from others, and what is in one may be written elsewhere. */
const isInside = (name: string): boolean =>
  !/^[/\\]|[\\:*?"<>|\p{C}]/u.test(name) && !name.split("/").some((part) => /^\.\.?$/.test(part)) && name !== "";

function entriesOf(path: string, files: unknown): Readonly<Record<string, FileEntry>> {
  try {
    const entries = record(text(1024), entryKind).read(files, ["files"]);
    for (const name of Object.keys(entries))
      if (!isInside(name)) throw corrupt(path, `${show(name)} lies outside of it`, { file: name });
    return entries;
  } catch (error) {
    if (error instanceof Mismatch) throw corrupt(path, error.message);
    throw error;
  }
}

function read(path: string, name: string, most?: number): Uint8Array {
  try {
    return readBytes(join(path, name), most);
  } catch (error) {
    throw corrupt(path, `${name} cannot be read (${reasonOf(error)})`, { file: name });
  }
}
