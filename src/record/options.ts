// options of the flight recorder
import { badOption, fillInPart, type ConfigOf, type Given, type OptionTable } from "../core/options.ts";
import { described, either, integer, list, Mismatch, oneOf, text, unchecked, type Kind } from "../core/schema.ts";
import { parseBytes, type Bytes } from "../core/units.ts";
import { bundleFolder } from "./bundle-folder.ts";

/** Takes a bundle as a zip. */
export type SaveBundle = (name: string, zip: Uint8Array<ArrayBuffer>) => void | Promise<void>;

const saver: Kind<SaveBundle> = {
  want: "a function (name, zip)",
  read(value, path) {
    if (typeof value === "function") return value as SaveBundle;
    throw new Mismatch(path, value, this.want);
  },
};

export const RECORDER_OPTIONS = {
  everySteps: {
    default: 16,
    min: 1,
    max: 2 ** 16,
    integer: true,
    doc: "control steps between two copies of the state",
  },
  keep: { default: 2, min: 1, max: 256, integer: true, doc: "copies of the state, each with the actions after it" },
  worlds: {
    default: "all",
    kind: described('"all" or a list of worlds', either(oneOf("all"), list(integer(0), { min: 1 }))),
    doc: "worlds that are recorded; the tiles of eight that they lie in are kept",
  },
  directory: {
    kind: text(4096, /./su, "the path of a folder"),
    doc: "folder for bundles; by default $CORRAL_BUNDLES, else corral-bundles in the working folder",
  },
  save: {
    kind: saver,
    doc: "is given each bundle as a zip, which corral replay takes, in place of a folder: in a page nothing else is there",
  },
  maxBundles: {
    default: 8,
    min: 1,
    max: 1000,
    integer: true,
    doc: "most bundles that one environment writes; of one kind of failure at most a quarter of them",
  },
  maxWorlds: { default: 16, min: 1, max: 4096, integer: true, doc: "most worlds of a bundle" },
  maxBytes: { default: "64MiB", kind: unchecked<Bytes>('bytes such as "64MiB"'), doc: "largest size of a bundle" },
} as const satisfies OptionTable;

/** What is kept of a run, and where it goes when a world fails; `RECORDER_OPTIONS` says what each option means. */
export type RecorderOptions = Given<typeof RECORDER_OPTIONS>;
export type RecorderSettings = Required<Omit<ConfigOf<typeof RECORDER_OPTIONS>, "maxBytes" | "save">> & {
  readonly save?: SaveBundle | undefined;
  readonly maxBytes: number;
};

/** The recorder's settings; undefined if it is off. Throws `bad-option`, `unknown-option`, `bad-bytes`. */
export function recorderSettings(given: unknown, numEnvs: number): RecorderSettings | undefined {
  if (given === false) return undefined;
  const settings = fillInPart("recorder", RECORDER_OPTIONS, given === undefined || given === true ? {} : given);
  const { worlds, directory = bundleFolder(), maxBytes } = settings;
  const last = numEnvs - 1;
  if (worlds !== "all" && worlds.some((w) => w > last))
    throw badOption("recorder.worlds", worlds, `pass "all" or a list of worlds from 0 to ${last}`);
  return {
    ...settings,
    worlds: worlds === "all" ? worlds : [...new Set(worlds)].sort((a, b) => a - b),
    directory,
    maxBytes: parseBytes(maxBytes, "recorder.maxBytes"),
  };
}
