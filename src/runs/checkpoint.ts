// a checkpoint in one safetensors file: the policy by name (`policy.0.weight`, `normalizer.mean`, ...), all that the run
// is resumed from (`state.*`), and metadata that names the run, with a checksum of every byte.
import { createHash } from "node:crypto";
import { CorralError } from "../core/errors.ts";
import { corralVersion } from "../core/version.ts";
import { decodeSafetensors, encodeSafetensors, type Tensor, type TensorData } from "../io/safetensors.ts";
import { show } from "../core/show.ts";
import { pack } from "../record/pack.ts";
import { unpack } from "../record/unpack.ts";
import { aboutKind, readPart, stateKind, type CheckpointAbout } from "./checkpoint-format.ts";
import type { RunState } from "./progress.ts";

const FORMAT = "corral-checkpoint";
/** Version of the format; a reader refuses what is newer than itself. */
const CHECKPOINT_VERSION = 1;

export interface Checkpoint {
  readonly path: string;
  readonly about: CheckpointAbout;
  /** What was saved, plain data with typed arrays. */
  readonly state: RunState;
  /** The policy by name. */
  readonly policy: ReadonlyMap<string, Tensor>;
}

const VIEWS = { Float32Array, Float64Array, Int32Array, Uint32Array, Uint8Array } as const;

/** Where an array of the state lies. */
interface Place {
  readonly $array: string;
  readonly as: keyof typeof VIEWS;
}

/** The remedy if there is one before it. */
export const USE_BEFORE = " Use the one before it.";

const STATE = "state";
const NO_HASH = "0".repeat(64);
const hashField = (hash: string): string => `"sha256":"${hash}"`;

/** Takes arrays out of plain data into tensors by their path, each buffer once. */
function takeArrays(
  value: unknown,
  path: string,
  tensors: Record<string, Tensor>,
  seen: Map<unknown, string>,
): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) {
    const data = value as TensorData;
    const key = data.byteLength === data.buffer.byteLength ? data.buffer : data;
    let name = seen.get(key);
    if (name === undefined) {
      seen.set(key, (name = path));
      tensors[path] = { shape: [data.length], data };
    }
    return { $array: name, as: data.constructor.name };
  }
  if (Array.isArray(value)) return value.map((each, i) => takeArrays(each, `${path}.${i}`, tensors, seen));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, takeArrays(each, `${path}.${name}`, tensors, seen)]),
  );
}

/** Restores them. Throws if one is missing or not a non-negative integer. */
function putArrays(value: unknown, tensors: ReadonlyMap<string, Tensor>): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return value;
  if (Object.hasOwn(value, "$array")) {
    const { $array, as } = value as Place;
    const found = tensors.get($array)?.data;
    if (found === undefined || !Object.hasOwn(VIEWS, as)) throw new Error(`it has no array ${show($array)}`);
    return new VIEWS[as](found.buffer as ArrayBuffer);
  }
  if (Array.isArray(value)) return value.map((each) => putArrays(each, tensors));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, putArrays(each, tensors)]));
}

const text = (value: unknown): string => new TextDecoder().decode(pack(value));

/** The bytes of a checkpoint. */
export function encodeCheckpoint(
  about: Omit<CheckpointAbout, "corral">,
  state: unknown,
  policy: Readonly<Record<string, Tensor>>,
): Uint8Array {
  const tensors: Record<string, Tensor> = { ...policy };
  const plain = takeArrays(state, STATE, tensors, new Map());
  const bytes = encodeSafetensors(tensors, {
    format: FORMAT,
    version: String(CHECKPOINT_VERSION),
    sha256: NO_HASH,
    about: text({ corral: corralVersion(), ...about }),
    state: text(plain),
  });
  // the checksum is that of the file with zeros in its place
  const hash = createHash("sha256").update(bytes).digest("hex");
  const at = Buffer.from(bytes.buffer).indexOf(hashField(NO_HASH));
  bytes.set(new TextEncoder().encode(hashField(hash)), at);
  return bytes;
}

/**
 * Reads a checkpoint's bytes and checks them.
 * @throws CorralError checkpoint-newer, checkpoint-corrupt
 */
export function decodeCheckpoint(bytes: Uint8Array, path: string): Checkpoint {
  const corrupt = (why: string, cause?: unknown): CorralError =>
    new CorralError(
      "checkpoint-corrupt",
      `${path} is damaged: ${why.replace(/\.$/, "")}.${USE_BEFORE}`,
      { path },
      { cause },
    );
  let file;
  try {
    file = decodeSafetensors(bytes, path);
  } catch (error) {
    throw corrupt((error as Error).message, error);
  }
  const { metadata, tensors } = file;
  if (metadata.format !== FORMAT) {
    // an exported policy has no value function to go on with
    const why =
      metadata.producer === undefined ? "no checkpoint of corral. " : "a policy, and holds no value function. ";
    const remedy = metadata.producer === undefined ? "" : `, such as one that was trained with --teacher ${path}`;
    throw new CorralError("checkpoint-corrupt", `${path} is ${why}Pass the folder of a run${remedy}.`, { path });
  }
  if (!(Number(metadata.version) <= CHECKPOINT_VERSION)) {
    throw new CorralError(
      "checkpoint-newer",
      `${path} has version ${metadata.version} of the format; this corral ${corralVersion()} reads ${CHECKPOINT_VERSION}. Use a newer corral.`,
      { path, version: metadata.version },
    );
  }

  const { sha256 = "" } = metadata;
  const field = Buffer.from(hashField(sha256));
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(field);
  const hash = createHash("sha256");
  if (at >= 0)
    hash
      .update(bytes.subarray(0, at))
      .update(hashField(NO_HASH))
      .update(bytes.subarray(at + field.length));
  if (at < 0 || hash.digest("hex") !== sha256) throw corrupt("its checksum is another");

  const policy = new Map([...tensors].filter(([name]) => !name.startsWith(`${STATE}.`)));
  const read = (name: string): unknown => {
    try {
      return putArrays(unpack(new TextEncoder().encode(metadata[name] ?? ""), name), tensors);
    } catch (error) {
      throw corrupt((error as Error).message.replace(/^\[[\w-]+\] /, ""), error);
    }
  };
  const about = readPart(aboutKind, read("about"), "about", corrupt);
  return { path, about, state: readPart(stateKind, read("state"), "state", corrupt), policy };
}
