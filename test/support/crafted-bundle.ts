// bundles as a stranger would make them: any part changed, and every checksum right
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** The parts of a bundle as JSON holds them, to be changed. */
export interface CraftedParts {
  // oxlint-disable-next-line typescript/no-explicit-any
  [part: string]: any;
}

const JSON_PARTS = { program: "program.json.gz", records: "records.json.gz", model: "model.json.gz" } as const;

/** Parts of a bundle: its manifest (`about`), `program`, `records`, `model`, `tables`, the text of its kernel (`wgsl`). */
export function partsOf(path: string): CraftedParts {
  const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
  const parts: CraftedParts = { about: json(readFileSync(join(path, "manifest.json"))) };
  for (const [part, file] of Object.entries(JSON_PARTS)) parts[part] = json(gunzipSync(readFileSync(join(path, file))));
  parts.tables = json(readFileSync(join(path, "tables.json")));
  const wgsl = join(path, "step.wgsl");
  if (existsSync(wgsl)) parts.wgsl = readFileSync(wgsl, "utf8");
  return parts;
}

export interface CraftOptions {
  /** Leave the checksums of program and kernel in the manifest as they are. */
  readonly keepsHashes?: boolean;
}

/** Writes parts over a copy of a bundle, sealed as a good one. Returns its path. */
export function seal(from: string, to: string, parts: CraftedParts, options: CraftOptions = {}): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
  const { about, tables, wgsl } = parts;
  const write = (file: string, bytes: Uint8Array) => {
    writeFileSync(join(to, file), bytes);
    if (about?.files?.[file]) about.files[file] = { bytes: bytes.length, sha256: sha256(bytes) };
  };
  for (const [part, file] of Object.entries(JSON_PARTS)) {
    const bytes = Buffer.from(JSON.stringify(parts[part]) ?? "");
    write(file, gzipSync(bytes, { level: 1 }));
    if (part === "program" && !options.keepsHashes && about) about.program = sha256(bytes);
  }
  write("tables.json", Buffer.from(JSON.stringify(tables) ?? ""));
  if (wgsl !== undefined) write("step.wgsl", Buffer.from(wgsl));
  if (!options.keepsHashes && about) about.shader = wgsl === undefined ? about.program : shaderHash(wgsl, tables);
  return sealManifest(to, JSON.stringify(about) ?? "");
}

/** Writes a manifest, and its seal. */
export function sealManifest(path: string, text: string): string {
  writeFileSync(join(path, "manifest.json"), text);
  writeFileSync(join(path, "manifest.sha256"), `${sha256(Buffer.from(text))}  manifest.json\n`);
  return path;
}

function shaderHash(wgsl: string, tables: CraftedParts): string {
  const hash = createHash("sha256").update(wgsl);
  for (const type of ["f32", "i32"]) if (tables?.[type]?.of) hash.update(Buffer.from(tables[type].of, "base64"));
  return hash.digest("hex");
}

/** A copy of a bundle with some of its parts changed. */
export function craft(
  from: string,
  to: string,
  change: (parts: CraftedParts) => void,
  options: CraftOptions = {},
): string {
  const parts = partsOf(from);
  change(parts);
  return seal(from, to, parts, options);
}
