// bytes of a picture by its path
import { readFileSync } from "node:fs";
import { CorralError } from "../../core/errors.ts";

export async function readImage(path: URL | string): Promise<Uint8Array> {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (cause) {
    const text = `the picture ${String(path)} cannot be read. Pass the path of a PNG, or its bytes.`;
    throw new CorralError("missing-file", text, { file: String(path) }, { cause });
  }
}
