// bytes of a file by its path: a picture, a motion
import { readFileSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";

/** @param what what it is, in an error: "the picture" */
export async function readFile(path: URL | string, what: string): Promise<Uint8Array> {
  const refuse = (why: string, cause?: unknown) => {
    const text = `${what} ${path === "" ? '""' : inLine(String(path))} ${why}. Pass the path of a file, or its bytes (a Uint8Array).`;
    return new CorralError("missing-file", text, { file: String(path) }, { cause });
  };
  // numbers would be read from as open files, 0 the terminal
  if (typeof path !== "string" && !((path as unknown) instanceof URL)) throw refuse("is no path");
  if (path === "") throw refuse("is an empty path");
  try {
    return new Uint8Array(readFileSync(path));
  } catch (cause) {
    throw refuse(`cannot be read (${String((cause as { code?: unknown }).code)})`, cause);
  }
}
