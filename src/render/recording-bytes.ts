// episodes as files: an archive of NumPy arrays (npz) with the model beside them, so that it can be shown again anywhere.
// np.load(FILE)["qpos"] reads it too
import { integer, list, object, oneOf, positive, text, type Of } from "../core/schema.ts";
import { writeNpy } from "../io/npy.ts";
import type { ModelSource } from "../model/model.ts";
import { packZip } from "../model/zip-stream.ts";

export const RECORDING_VERSION = 1;
export const ABOUT = "about.json";
export const MODEL = "mjcf/";

export const aboutKind = object({
  format: oneOf("corral-recording"),
  version: integer(1),
  corral: text(64),
  id: text(512),
  control_dt: positive,
  model: text(512),
  reward_terms: list(text(256), { max: 256 }),
});

/** What a recording says of itself: environment, seconds of a control step, path of the MJCF in it, names of `reward_terms`. */
export type RecordingAbout = Of<typeof aboutKind>;

/** What is known of one world at one time, by name: numbers or lists of them. */
export type Row = Readonly<Record<string, ArrayLike<number>>>;

/** Names whose rows are one number each, stored without an axis for it. */
const SCALARS: ReadonlySet<string> = new Set(["time", "reward", "terminated", "truncated", "world", "seed"]);

/** The bytes of a recording of some episodes, each a list of rows of the same names and widths. */
export async function recordingBytes(
  about: Omit<RecordingAbout, "format" | "version" | "model">,
  source: ModelSource,
  episodes: readonly (readonly Row[])[],
): Promise<Uint8Array<ArrayBuffer>> {
  const frames = Math.max(...episodes.map((rows) => rows.length));
  const files: Record<string, Uint8Array> = {};
  for (const [name, first] of Object.entries(episodes[0][0])) {
    const width = first.length;
    const values = new Float64Array(frames * episodes.length * width);
    for (let t = 0; t < frames; t++)
      episodes.forEach((rows, e) => {
        values.set(rows[Math.min(t, rows.length - 1)][name], (t * episodes.length + e) * width);
      });
    const scalar = SCALARS.has(name) ? [] : [width];
    files[`${name}.npy`] = writeNpy({ shape: [frames, episodes.length, ...scalar], values });
  }
  const lengths = Float64Array.from(episodes, (rows) => rows.length);
  files["lengths.npy"] = writeNpy({ shape: [episodes.length], values: lengths });
  const all: RecordingAbout = {
    format: "corral-recording",
    version: RECORDING_VERSION,
    ...about,
    model: MODEL + source.file,
  };
  files[ABOUT] = new TextEncoder().encode(`${JSON.stringify(all, undefined, 2)}\n`);
  files[all.model] = new TextEncoder().encode(source.xml);
  for (const [path, bytes] of Object.entries(source.assets)) files[MODEL + path] = bytes;
  return await packZip(files);
}
