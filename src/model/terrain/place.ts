// an MJCF whose floor is a terrain
import { inLine, show } from "../../core/show.ts";
import { CorralError } from "../../core/errors.ts";
import { alternatives } from "../../core/names.ts";
import { patchAt, spanOf, type Terrain } from "./terrain.ts";

/** Name of the height field in the MJCF. */
const FIELD = "corral-terrain";
/** Solid ground below the lowest point (m). */
const BASE = 1;
/** Height that MuJoCo is told of ground that is level: it takes none of 0 (m). */
const LEAST_HEIGHT = 1e-3;

/** A terrain, and the geom of the MJCF that it stands in for. */
export interface PlacedTerrain {
  readonly ground: Terrain;
  readonly geom: string;
  /**
   * The field's `priority` and `solref` (MuJoCo's) in place of the geom's: with a priority of 1 contacts take solref, solimp,
   * friction and condim of the ground alone. Feet that are softened for planes sink into fields, whose inner edges then stop them.
   */
  readonly priority?: number;
  readonly solref?: readonly [number, number];
}

export const isPlaced = (x: unknown): x is PlacedTerrain => {
  const { ground, geom } = (x ?? {}) as Partial<PlacedTerrain>;
  return ground?.heights instanceof Int32Array && typeof geom === "string";
};

const short = (x: number): string => String(Number(x.toPrecision(9)));

/** Where the field's geom is so that a patch's middle is at the origin (m). */
export function geomPosOf(t: Terrain, row: number, column: number): readonly [number, number, number] {
  const [x, y, height] = patchAt(t, row, column);
  return [-x, -y, spanOf(t)[0] - height];
}

/** @throws CorralError bad-terrain */
function checkContacts({ priority, solref }: PlacedTerrain): void {
  if (priority !== undefined && !Number.isInteger(priority))
    throw new CorralError("bad-terrain", `priority of a terrain is ${show(priority)}; it is a whole number.`);
  if (solref !== undefined && !(Array.isArray(solref) && solref.length === 2 && solref.every(Number.isFinite)))
    throw new CorralError(
      "bad-terrain",
      `solref of a terrain is ${show(solref)}; it is two finite numbers, as MuJoCo's.`,
    );
}

/**
 * The text of an MJCF with a terrain in place of a geom of its world, such as its floor: contacts, friction and material
 * stay those of the geom. The middle of the first patch is at the origin.
 * @throws CorralError bad-terrain, or unknown-name if the text itself (not what it includes) has no such geom
 */
export function withTerrain(xml: string, placed: PlacedTerrain, name: string): string {
  const { ground: t, geom } = placed;
  // comments as blanks, so that places stay
  const text = xml.replace(/<!--[\s\S]*?-->/g, (comment) => " ".repeat(comment.length));
  const tags = [...text.matchAll(/<geom\b(?:[^>"']|"[^"]*"|'[^']*')*>/g)];
  const nameOf = (tag: string) => /\sname\s*=\s*(["'])(.*?)\1/.exec(tag)?.[2] ?? "";
  const found = tags.find(([tag]) => nameOf(tag) === geom);
  const end = text.lastIndexOf("</mujoco");
  if (!found || end < 0) {
    const { hint, nearest } = alternatives(
      geom,
      tags.map(([tag]) => nameOf(tag)),
    );
    throw new CorralError(
      "unknown-name",
      `${name} has no geom named "${inLine(geom)}" in its own text for the terrain to stand in for; ${hint}. Name the floor's geom, and leave it out of included files.`,
      { nearest },
    );
  }
  const [low, high] = spanOf(t);
  const field = [((t.ncol - 1) * t.cell) / 2, ((t.nrow - 1) * t.cell) / 2, Math.max(high - low, LEAST_HEIGHT), BASE];
  // the text's first row is the farthest along y
  const rows = Array.from({ length: t.nrow }, (_, r) => {
    const from = (t.nrow - 1 - r) * t.ncol;
    return t.heights.subarray(from, from + t.ncol).join(" ");
  });
  const asset = `<asset><hfield name="${FIELD}" nrow="${t.nrow}" ncol="${t.ncol}" size="${field.map(short).join(" ")}" elevation="${rows.join("\n")}"/></asset>`;
  const pos = geomPosOf(t, 0, 0).map(short).join(" ");
  checkContacts(placed);
  const { priority, solref } = placed;
  const own = Object.entries({ priority, solref: solref?.join(" ") }).filter(([, value]) => value !== undefined);
  const named = ["type", "size", "pos", "quat", "axisangle", "euler", "xyaxes", "zaxis", "fromto", "mesh", "hfield"];
  const other = new RegExp(
    String.raw`\s(${[...named, ...own.map(([key]) => key)].join("|")})\s*=\s*(?:"[^"]*"|'[^']*')`,
    "g",
  );
  const said = own.map(([key, value]) => ` ${key}="${value}"`).join("");
  const tag = found[0]
    .replace(other, "")
    .replace(/^<geom/, `<geom type="hfield" hfield="${FIELD}" pos="${pos}"${said}`);
  const at = found.index;
  return `${xml.slice(0, at)}${tag}${xml.slice(at + found[0].length, end)}${asset}${xml.slice(end)}`;
}
