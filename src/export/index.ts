// leaving with a policy: ONNX, safetensors, or a folder for the browser
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { onlyOptions, optionsOf } from "../core/options.ts";
import { assertFolderOf, makeOutputFolder } from "../core/make-folder.ts";
import { reasonOf, remedyOf } from "../core/write-bytes.ts";
import { writeAllWhole, writeWhole } from "../io/write-whole.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { isPolicyFile, readPolicy } from "../runs/policy-file.ts";
import { policyOfRun } from "../runs/policy.ts";
import { policyBundle } from "./bundle.ts";
import { encodePolicyOnnx } from "./onnx.ts";
import { encodePolicySafetensors } from "./safetensors.ts";

export const EXPORT_FORMATS = ["onnx", "safetensors", "wgsl"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportOptions {
  readonly format: ExportFormat;
  /** A file, or for "wgsl" a folder, which is made. */
  readonly to: string;
}

/** What was written. */
export interface Exported {
  readonly format: ExportFormat;
  /** The file or folder, and each file with its bytes. */
  readonly to: string;
  readonly files: Readonly<Record<string, number>>;
}

/** Anything that has a policy: a learner, the folder of a run, a safetensors file of one, or the policy itself. */
export type PolicySource = Policy | string | { policy(): Promise<Policy> };

async function policyFrom(source: PolicySource): Promise<Policy> {
  if (typeof source === "string") return isPolicyFile(source) ? readPolicy(source) : policyOfRun(source);
  return "policy" in source ? source.policy() : source;
}

/**
 * Writes the deterministic policy, with normalisation of observations and bounds of actions inside. Every file is complete
 * when it gets its name.
 * @throws CorralError unsupported-export, bad-option; no-checkpoint, checkpoint-corrupt and unknown-env for folders; not-empty if the folder of "wgsl" holds other things; what the
 *   file system throws
 */
export async function exportPolicy(source: PolicySource, options: ExportOptions): Promise<Exported> {
  const { format, to } = optionsOf(options);
  onlyOptions("exportPolicy", options, ["format", "to"]);
  if (!EXPORT_FORMATS.includes(format)) {
    const known = EXPORT_FORMATS.map((name) => `"${name}"`).join(", ");
    throw new CorralError("bad-option", `format is ${JSON.stringify(format)}; pass one of ${known}.`, { format });
  }
  if (typeof to !== "string" || to === "") {
    throw new CorralError("bad-option", `to is ${JSON.stringify(to)}; pass the file to write, for "wgsl" a folder.`);
  }
  const policy = await policyFrom(source);
  if (format === "wgsl") {
    const bundle = policyBundle(policy);
    return { format, to, files: written(to, () => writeFolder(to, bundle)) };
  }
  const bytes = format === "onnx" ? encodePolicyOnnx(policy) : encodePolicySafetensors(policy);
  written(to, () => {
    assertFolderOf(to);
    writeWhole(to, bytes);
  });
  return { format, to, files: { [to]: bytes.length } };
}

/** Throws `export-not-written` if the file system refuses. */
function written<T>(to: string, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    if (cause instanceof CorralError) throw cause;
    const reason = reasonOf(cause);
    const message = `${to} cannot be written (${reason}). ${remedyOf(cause, "write to another place")}`;
    throw new CorralError("export-not-written", message, { to, reason }, { cause });
  }
}

function writeFolder(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Record<string, number> {
  const others = existsSync(folder) ? readdirSync(folder).filter((name) => !Object.hasOwn(files, name)) : [];
  if (others.length > 0) {
    throw new CorralError("not-empty", `${folder} holds ${others[0]} already. Pass a new folder.`, { folder, others });
  }
  makeOutputFolder(folder);
  const encoded = Object.entries(files).map(([name, content]) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return [name, bytes] as const;
  });
  writeAllWhole(Object.fromEntries(encoded.map(([name, bytes]) => [join(folder, name), bytes])));
  return Object.fromEntries(encoded.map(([name, bytes]) => [name, bytes.length]));
}
