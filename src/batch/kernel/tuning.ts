// kernel plans that were measured: one small file a model, driver and corral version in the cache folder. Reading and
// writing never fail a run: what cannot be read is not there, and the policy of the model decides.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDir } from "../../core/cache-dir.ts";
import { writeCached } from "../../core/cached-file.ts";
import { corralVersion } from "../../core/version.ts";
import type { Model } from "../../model/model.ts";
import { LEAST_LIVE, MOST_LIVE } from "../../trace/wgsl.ts";
import { WORKGROUP_SIZES } from "../options.ts";

/** What is chosen by measuring. */
export interface Tuning {
  /** Straight-line code, or runtime loops. */
  readonly unroll: boolean;
  /** Worlds a workgroup. */
  readonly workgroupSize: number;
  /** Private arrays each its own, or all in one. */
  readonly privateArrays: "separate" | "merged";
  /** The kernel of a step in pieces, or whole. */
  readonly cut: boolean;
  /** Values that may live at once; undefined for any number. */
  readonly mostLive?: number;
}

const isTuning = (found: Partial<Tuning> | null): found is Tuning =>
  typeof found?.unroll === "boolean" &&
  typeof found.cut === "boolean" &&
  WORKGROUP_SIZES.includes(found.workgroupSize!) &&
  (found.privateArrays === "separate" || found.privateArrays === "merged") &&
  (found.mostLive === undefined || isLive(found.mostLive));

const isLive = (n: unknown): boolean => Number.isInteger(n) && Number(n) >= LEAST_LIVE && Number(n) <= MOST_LIVE;

/** Of what a choice is: the model's files and options, the driver with its version, and corral's version. */
function tuningKey(model: Model, driver: string): string {
  const hash = createHash("sha256").update(JSON.stringify([corralVersion(), driver, model.opt]));
  const { xml, assets } = model.source;
  hash.update(xml);
  for (const name of Object.keys(assets).sort()) hash.update(name).update(assets[name]);
  return hash.digest("hex");
}

const fileOf = (model: Model, driver: string): string =>
  join(cacheDir(), "tuning", `${tuningKey(model, driver).slice(0, 32)}.json`);

/** The choice for a model on a driver; undefined if none was made, or its file is damaged. */
export function readTuning(model: Model, driver: string): Tuning | undefined {
  try {
    const found = JSON.parse(readFileSync(fileOf(model, driver), "utf8")) as Partial<Tuning> | null;
    if (!isTuning(found)) return undefined;
    const { unroll, workgroupSize, privateArrays, cut, mostLive } = found;
    return { unroll, workgroupSize, privateArrays, cut, ...(mostLive === undefined ? {} : { mostLive }) };
  } catch {
    return undefined;
  }
}

/** Keeps a choice. Returns the file, or undefined if it cannot be written. */
export function writeTuning(model: Model, driver: string, tuning: Tuning): string | undefined {
  try {
    const file = fileOf(model, driver);
    writeCached(file, `${JSON.stringify(tuning)}\n`);
    return file;
  } catch {
    return undefined;
  }
}
