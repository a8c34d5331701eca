// an MJCF whose floor is a terrain
import { inLine, show } from "../../core/show.ts";
import { CorralError } from "../../core/errors.ts";
import { alternatives } from "../../core/names.ts";
import { mjtObj } from "../enums.ts";
import type { Model } from "../model-data.ts";
import { groundBoxes } from "./boxes.ts";
import { bad, onlyOptions, patchAt, spanOf, type Terrain } from "./terrain.ts";

/** Name of the height field in the MJCF, or of the body that the boxes are of. */
export const GROUND = "corral-terrain";
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

const placed = (numbers: readonly number[]): string => numbers.map((x) => Number(x.toPrecision(9))).join(" ");

/** Where the field's geom is, or the body of the boxes, so that a patch's middle is at the origin (m). */
export function groundPosOf(t: Terrain, row: number, column: number): readonly [number, number, number] {
  const [x, y, height] = patchAt(t, row, column);
  return [-x, -y, (t.as === "boxes" ? 0 : spanOf(t)[0]) - height];
}

/** The number of the model that is where the ground lies, x, y and z one after the other. */
export const groundPlace = ({ ground, geom }: PlacedTerrain) =>
  ground.as === "boxes"
    ? ({ field: "body_pos", kind: "body", name: GROUND } as const)
    : ({ field: "geom_pos", kind: "geom", name: geom } as const);

/** @throws CorralError bad-terrain */
function checkContacts(terrain: PlacedTerrain): void {
  onlyOptions("a terrain", terrain, ["ground", "geom", "priority", "solref"]);
  const { priority, solref } = terrain;
  if (priority !== undefined && !Number.isInteger(priority))
    throw new CorralError("bad-terrain", `priority of a terrain is ${show(priority)}; it is a whole number.`);
  if (solref !== undefined && !(Array.isArray(solref) && solref.length === 2 && solref.every(Number.isFinite)))
    throw new CorralError(
      "bad-terrain",
      `solref of a terrain is ${show(solref)}; it is two finite numbers, as MuJoCo's.`,
    );
}

/**
 * What names the geom that boxes stand in for would mean the first of them alone.
 * @throws CorralError bad-terrain
 */
export function checkGround(model: Model, { ground, geom }: PlacedTerrain): void {
  if (ground.as !== "boxes") return;
  const first = model.names.geom.indexOf(geom);
  const fail = (what: string) =>
    bad(
      `${what} names the geom "${inLine(geom)}", which is ${groundBoxes(ground).length} boxes here; name the body "${GROUND}", leave it out, or take ground as: "field"`,
    );
  const pair = Array.from(model.pair_geom1).findIndex((g, i) => g === first || model.pair_geom2[i] === first);
  if (pair >= 0) throw fail(`pair ${pair}`);
  const isIt = (types: Int32Array, ids: Int32Array, s: number) => types[s] === mjtObj.GEOM && ids[s] === first;
  const { sensor_objtype, sensor_objid, sensor_reftype, sensor_refid } = model;
  const sensor = Array.from(sensor_objtype).findIndex(
    (_, s) => isIt(sensor_objtype, sensor_objid, s) || isIt(sensor_reftype, sensor_refid, s),
  );
  if (sensor >= 0) throw fail(`sensor "${inLine(model.names.sensor[sensor])}"`);
}

/** What stands in for the geom's tag: `own` is the tag with what is said of the terrain's contacts. */
interface Stead {
  readonly geoms: string;
  readonly asset: string;
}

function asField(t: Terrain, own: (what: string) => string): Stead {
  const [low, high] = spanOf(t);
  const size = [((t.ncol - 1) * t.cell) / 2, ((t.nrow - 1) * t.cell) / 2, Math.max(high - low, LEAST_HEIGHT), BASE];
  // the text's first row is the farthest along y
  const rows = Array.from({ length: t.nrow }, (_, r) => {
    const from = (t.nrow - 1 - r) * t.ncol;
    return t.heights.subarray(from, from + t.ncol).join(" ");
  });
  return {
    geoms: own(`type="hfield" hfield="${GROUND}" pos="${placed(groundPosOf(t, 0, 0))}"`),
    asset: `<asset><hfield name="${GROUND}" nrow="${t.nrow}" ncol="${t.ncol}" size="${placed(size)}" elevation="${rows.join("\n")}"/></asset>`,
  };
}

function asBoxes(t: Terrain, own: (what: string) => string): Stead {
  const tags = groundBoxes(t).map(({ pos, half, quat }, i) => {
    const turned = quat ? ` quat="${placed(quat)}"` : "";
    const tag = own(`type="box" size="${placed(half)}" pos="${placed(pos)}"${turned} mass="0"`);
    return i === 0 ? tag : tag.replace(/(\sname\s*=\s*(["']))(.*?)\2/, `$1$3.${i}$2`);
  });
  return { geoms: `<body name="${GROUND}" pos="${placed(groundPosOf(t, 0, 0))}">${tags.join("\n")}</body>`, asset: "" };
}

/**
 * The text of an MJCF with a terrain in place of a geom of its world, such as its floor: contacts, friction and material
 * stay those of the geom. The middle of the first patch is at the origin. Of boxes the first has the geom's name, the
 * others have it with a number (`floor.1`); all are of a body of their own.
 * @throws CorralError bad-terrain, or unknown-name if the text itself (not what it includes) has no such geom
 */
export function withTerrain(xml: string, terrain: PlacedTerrain, name: string): string {
  const { ground, geom, priority, solref } = terrain;
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
  const parts = text.slice(0, found.index).match(/<body\b(?:[^>"']|"[^"]*"|'[^']*')*>|<\/body\s*>/g) ?? [];
  const depth = parts.reduce((n, part) => n + (part.startsWith("</") ? -1 : part.endsWith("/>") ? 0 : 1), 0);
  if (depth > 0)
    throw bad(
      `the geom "${inLine(geom)}" of ${name} belongs to a body, and a terrain stands in for a geom of the world; name the floor's, or move it into <worldbody>`,
    );
  checkContacts(terrain);
  const given = Object.entries({ priority, solref: solref?.join(" ") }).filter(([, value]) => value !== undefined);
  const named = ["type", "size", "pos", "quat", "axisangle", "euler", "xyaxes", "zaxis", "fromto", "mesh", "hfield"];
  if (ground.as === "boxes") named.push("mass", "density");
  const other = new RegExp(
    String.raw`\s(${[...named, ...given.map(([key]) => key)].join("|")})\s*=\s*(?:"[^"]*"|'[^']*')`,
    "g",
  );
  const said = given.map(([key, value]) => ` ${key}="${value}"`).join("");
  const [tag, after] = [found[0], found.index + found[0].length];
  const closed = tag.endsWith("/>") ? "" : /^\s*<\/geom\s*>/.exec(text.slice(after))?.[0];
  if (closed === undefined)
    throw bad(`the geom "${inLine(geom)}" of ${name} has elements of its own, which a terrain has not; leave them out`);
  const empty = tag.replace(/\/?>$/, "/>").replace(other, "");
  const own = (what: string) => empty.replace(/^<geom/, `<geom ${what}${said}`);
  const { geoms, asset } = ground.as === "boxes" ? asBoxes(ground, own) : asField(ground, own);
  return `${xml.slice(0, found.index)}${geoms}${xml.slice(after + closed.length, end)}${asset}${xml.slice(end)}`;
}
