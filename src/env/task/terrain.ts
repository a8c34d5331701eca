// tasks on terrain: which patch a world stands on, and how it comes to easier and harder ones
import { table } from "../../trace/control.ts";
import {
  add,
  clamp,
  div,
  eq,
  floor,
  ge,
  min,
  mul,
  round,
  select,
  sub,
  toI32,
  type Scalar,
} from "../../trace/scalar.ts";
import { idOf, type Model } from "../../model/model.ts";
import { groundPlace, groundPosOf, isPlaced, type PlacedTerrain } from "../../model/terrain/place.ts";
import { CorralError } from "../../core/errors.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { Randomisation, Scene, Task, TaskTerrain, TermSource } from "./task.ts";
import { placeOf, termCondition } from "./term-value.ts";

const NEXT = "terrain";

/** Where the world's ground lies: its middle, of a field at the height of its lowest point (m). */
export function groundAt(s: Scene, terrain: PlacedTerrain): Vec3 {
  const { field, kind, name } = groundPlace(terrain);
  return s.m[field].vec3(idOf(s.model, kind, name));
}

/** The row that the world is on, from 0, the easiest. */
export function rowOf(s: Scene, terrain: PlacedTerrain): Scalar {
  const [x] = groundAt(s, terrain);
  return round(sub((terrain.ground.rows - 1) / 2, div(x, terrain.ground.patch)));
}

function columnOf(s: Scene, terrain: PlacedTerrain): Scalar {
  const [, y] = groundAt(s, terrain);
  return round(sub((terrain.ground.columns - 1) / 2, div(y, terrain.ground.patch)));
}

/** The row that comes next: what the last step says, kept beyond the episode. */
function nextRow(s: Scene, terrain: TaskTerrain, id: string): Scalar {
  const { promote, demote, ground } = terrain;
  const holds = (t: Scene, name: "promote" | "demote", source: TermSource<object> | undefined): Scalar => {
    if (source === undefined) return 0;
    const place = placeOf({ id }, "terrain", name);
    return select(termCondition(source, t, { name: place, takes: [] }), 1, 0, "f32");
  };
  const [next] = s.memory(
    NEXT,
    (t) => {
      const row = rowOf(t, terrain);
      const change = sub(holds(t, "promote", promote), holds(t, "demote", demote));
      return [t.fresh ? row : clamp(add(row, change), 0, ground.rows)];
    },
    { persists: true },
  );
  return next;
}

/** What is drawn for a terrain: errors name the terrain's own terms. */
const forTerrain = new WeakSet<Randomisation>();

/** Where what a task draws stands in it, for errors. */
export const placeOfDrawn = (task: Pick<Task, "id">, name: string, item: Randomisation): string =>
  forTerrain.has(item) ? placeOf(task, "terrain") : placeOf(task, "randomise", name);

/** What each world draws of a terrain: where its field lies. */
export function terrainDraws(terrain: TaskTerrain, id: string): Record<string, Randomisation> {
  const { ground, promote, demote } = terrain;
  const { rows, columns, patch } = ground;
  const moves = promote !== undefined || demote !== undefined;
  const { startRows = moves ? 1 : rows } = terrain;
  const anyOf = (u: Scalar, count: number): Scalar => min(floor(mul(u, count)), count - 1);
  const placeOfLine = (line: Scalar, count: number) => mul(sub((count - 1) / 2, line), patch);
  const half = (count: number) => ((count - 1) / 2) * patch;

  const x = (s: Scene): Scalar => {
    const [u] = s.random.uniforms(1);
    const first = anyOf(u, startRows);
    if (!moves) return placeOfLine(first, rows);
    const next = nextRow(s, terrain, id);
    const later = select(ge(next, rows - 0.5), anyOf(u, rows), next);
    return placeOfLine(select(eq(s.episode, 0), first, later), rows);
  };
  const y = (s: Scene): Scalar => placeOfLine(anyOf(s.random.uniforms(1)[0], columns), columns);
  const lifts = Array.from({ length: rows * columns }, (_, i) =>
    Math.fround(groundPosOf(ground, Math.floor(i / columns), i % columns)[2]),
  );
  const z = (s: Scene): Scalar => {
    const [row, column] = [rowOf(s, terrain), columnOf(s, terrain)];
    return table("terrain_lifts", lifts)(toI32(clamp(add(mul(row, columns), column), 0, lifts.length - 1)));
  };
  const { field, name } = groundPlace(terrain);
  const drawn = (element: number, value: (s: Scene) => Scalar, within: readonly [number, number]): Randomisation => {
    const item: Randomisation = { field, of: name, element, set: { value, within } };
    forTerrain.add(item);
    return item;
  };
  return {
    terrain_x: drawn(0, x, [-half(rows), half(rows)]),
    terrain_y: drawn(1, y, [-half(columns), half(columns)]),
    terrain_z: drawn(2, z, [Math.min(...lifts), Math.max(...lifts)]),
  };
}

/** What elements of a field have the same number in what worlds draw. */
export interface StandsFor {
  /** The element whose number another one has too: itself, but for boxes of a terrain. */
  readonly standsFor: (field: string, index: number) => number;
  /** Elements that have an element's number too. */
  readonly also: (field: string, index: number) => readonly number[];
}

/**
 * The element of a field that stands for another in what worlds draw, and those that one stands for: all boxes of a
 * terrain have the friction of the first, which has the name of the geom that they stand in for.
 */
export function drawnFor(terrain: PlacedTerrain | undefined, model: Model): StandsFor {
  if (terrain?.ground.as !== "boxes") return { standsFor: (_, index) => index, also: () => [] };
  const first = idOf(model, "geom", terrain.geom);
  const isGround = (geom: number) => model.geom_bodyid[geom] === model.geom_bodyid[first];
  const others = Array.from({ length: model.ngeom }, (_, geom) => geom).filter((g) => g !== first && isGround(g));
  return {
    standsFor: (field, index) =>
      field === "geom_friction" && isGround(Math.floor(index / 3)) ? 3 * first + (index % 3) : index,
    also: (field, index) =>
      field === "geom_friction" && Math.floor(index / 3) === first ? others.map((geom) => 3 * geom + (index % 3)) : [],
  };
}

/** @throws CorralError bad-task */
export function checkTerrain({ id, terrain }: Pick<Task<never>, "id" | "terrain">, model: Model): void {
  if (!terrain) return;
  const { ground, startRows = 1, ...others } = terrain;
  const fail = (text: string) => new CorralError("bad-task", `task ${id}: ${text}.`, { id });
  if (!isPlaced(terrain))
    throw fail("its terrain is no { ground, geom }: what makeTerrain made, and the name of a geom");
  const known = ["geom", "priority", "solref", "promote", "demote"];
  const other = Object.keys(others).find((name) => !known.includes(name));
  if (other !== undefined)
    throw fail(`its terrain has no option "${other}"; it takes ground, startRows, ${known.join(", ")}`);
  if (!Number.isInteger(startRows) || startRows < 1 || startRows > ground.rows)
    throw fail(`startRows of its terrain is ${String(startRows)}; it is a whole number from 1 to ${ground.rows}`);
  idOf(model, "geom", terrain.geom);
}
