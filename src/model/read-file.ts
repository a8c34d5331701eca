// bytes of a file by its path: a picture, a motion
import { readFileSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";

/** @param what what it is, in an error: "the picture" */
export async function readFile(path: URL | string, what: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (cause) {
    const text = `${what} ${inLine(String(path))} cannot be read (${String((cause as { code?: unknown }).code)}). Pass the path of a file, or its bytes.`;
    throw new CorralError("missing-file", text, { file: String(path) }, { cause });
  }
}
