// what pack.ts has written, which may come from anyone
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { ARRAYS, MARK, type Kind } from "./pack.ts";

function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, MARK)) return value;
  const { [MARK]: kind, of } = value as unknown as { [MARK]: unknown; of: unknown };
  if (typeof of !== "string") throw new Error("numbers that are no text");
  if (kind === "n" && /^-?\d{1,40}$/.test(of)) return BigInt(of);
  if (kind === "x" && ["NaN", "Infinity", "-Infinity", "-0"].includes(of)) return Number(of);
  if (typeof kind !== "string" || !Object.hasOwn(ARRAYS, kind)) throw new Error(`no numbers of kind ${show(kind)}`);
  const bytes = Uint8Array.from(Buffer.from(of, "base64"));
  return new ARRAYS[kind as Kind](bytes.buffer);
}

/** @throws CorralError bundle-corrupt if it is no such data */
export function unpack(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes), (_, value: unknown) => revive(value));
  } catch (cause) {
    throw new CorralError(
      "bundle-corrupt",
      `${what} cannot be read: ${(cause as Error).message}. Copy the bundle again from where it was written.`,
      { what },
      { cause },
    );
  }
}
