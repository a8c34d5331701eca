// zips packed and unpacked at once
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { DEFLATED, END, ENTRY, LOCAL, unreadable, zipEntries } from "./archive.ts";

/**
 * Files of a zip by path, with "/" and without "." and "..".
 * @throws CorralError bad-archive
 */
export function unpackZip(bytes: Uint8Array, name: string): Record<string, Uint8Array> {
  try {
    const files = zipEntries(bytes, name).map(({ path, data, isDeflated, size }): [string, Uint8Array] => [
      path,
      isDeflated ? new Uint8Array(inflateRawSync(data, { maxOutputLength: Math.max(1, size) })) : data.slice(),
    ]);
    return Object.fromEntries(files);
  } catch (error) {
    throw unreadable(error, name);
  }
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
