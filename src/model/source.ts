// where a model comes from: its XML and every file that it names, so that MuJoCo can compile it again anywhere
import { show } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { isLfsPointer, LFS_REMEDY } from "./lfs-pointer.ts";
import { assertCopies } from "./replicas.ts";
import { assertNesting } from "./nesting.ts";
import { isXacro } from "./urdf.ts";

/** Everything MuJoCo needs to compile a model. Plain data: it can be cloned, stored and sent to a worker. */
export interface ModelSource {
  readonly xml: string;
  /** Path of the XML relative to the root of the assets. */
  readonly file: string;
  /** Includes, meshes and other files, by path relative to the same root. */
  readonly assets: Readonly<Record<string, Uint8Array>>;
  /** Whether what can only be looked at is compiled too. */
  readonly visuals?: true;
}

/** What messages call a model that was given as text. */
export const XML_TEXT = "the XML text";

/** Checks the XML of a source that comes from a file. Throws empty-file, not-utf8 and what bounds copies and nesting. */
export function checkSource({ xml, file }: ModelSource): void {
  decode(new TextEncoder().encode(xml), file);
}

/** Text of the XML, checked before MuJoCo sees it. */
export function decode(bytes: Uint8Array, name: string): string {
  if (bytes.length === 0) {
    throw new CorralError("empty-file", `${name} is empty; a model needs at least <mujoco/>.`, { name });
  }
  if (isLfsPointer(bytes))
    throw new CorralError("missing-file", `of ${name} there is only a pointer of Git LFS. ${LFS_REMEDY}`, {
      file: name,
    });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CorralError(
      "not-utf8",
      `${name} is not UTF-8 text. Pass MJCF or URDF as XML saved in UTF-8 (compiled .mjb files are not read).`,
      { name },
      { cause },
    );
  }
  if (text.includes("\0")) {
    throw new CorralError("not-utf8", `${name} holds NUL bytes, so it is no XML text.`, { name });
  }
  if (isXacro(text)) {
    throw new CorralError(
      "unexpanded-xacro",
      `${name} is for xacro, which makes a URDF of it: xacro ${name} > robot.urdf (pip install xacro). Pass that.`,
      { name },
    );
  }
  if (text.trim() === "") {
    throw new CorralError("empty-file", `${name} holds only white space; a model needs at least <mujoco/>.`, { name });
  }
  // as MuJoCo's parser would, of a recording or a policy too, by a number
  if (!/^\s*</.test(text)) {
    throw new CorralError(
      "not-xml",
      `${name} begins with ${show(text.trim()[0])}, so it is no XML. Pass MJCF or URDF.`,
      { name },
    );
  }
  assertCopies(text, name);
  assertNesting(text, name);
  return text;
}

/** A source from an XML string and the files it names. */
export function sourceOfXml(
  xml: string,
  assets: Readonly<Record<string, Uint8Array | string>>,
  visuals = false,
): ModelSource {
  const text = decode(new TextEncoder().encode(xml), "the XML string");
  const encoded: Record<string, Uint8Array> = {};
  for (const [path, content] of Object.entries(assets)) {
    // "./a" and "a" are one file
    const plain = path.replace(/^(\.?\/)+/, "");
    encoded[plain] = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
  }
  let file = "model.xml";
  while (Object.hasOwn(encoded, file)) file = `_${file}`;
  return { xml: text, file, assets: encoded, ...(visuals ? { visuals } : {}) };
}
