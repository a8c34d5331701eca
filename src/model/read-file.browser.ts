// bytes of a file by its address, from the page's own on
import { CorralError } from "../core/errors.ts";

export async function readFile(path: URL | string, what: string): Promise<Uint8Array> {
  try {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    const text = `${what} ${String(path)} cannot be fetched (${(cause as Error).message}). Pass the address of a file, or its bytes.`;
    throw new CorralError("missing-file", text, { file: String(path) }, { cause });
  }
}
