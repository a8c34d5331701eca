// geoms that MuJoCo's compiler takes to be where their bodies or the centres of mass of these are (mjtSameFrame)
import { mjtSameFrame } from "../model/enums.ts";
import type { Model } from "../model/model.ts";

const { BODY, BODYROT, INERTIA, INERTIAROT } = mjtSameFrame;
const UNIT = [1, 0, 0, 0];
/** Fields on which places of geoms beside their bodies depend. */
const FIELDS: readonly string[] = ["geom_pos", "geom_quat", "body_ipos", "body_iquat"];

/** What says where geoms are beside their bodies. */
type Places = Pick<
  Model,
  "ngeom" | "geom_bodyid" | "geom_sameframe" | "body_sameframe" | "body_ipos" | "body_iquat" | "geom_pos" | "geom_quat"
>;

/** Where geoms are beside their bodies, with those that are taken to be where these are. */
export function besideBodies(places: Places): Pick<Model, "geom_pos" | "geom_quat"> {
  const { ngeom, geom_bodyid, geom_sameframe, body_sameframe, body_ipos, body_iquat } = places;
  const [pos, quat] = [places.geom_pos.slice(), places.geom_quat.slice()];
  for (let g = 0; g < ngeom; g++) {
    const [same, b] = [geom_sameframe[g], geom_bodyid[g]];
    const ownTurn = body_sameframe[b] === BODY || body_sameframe[b] === BODYROT;
    if (same === BODY) pos.fill(0, 3 * g, 3 * g + 3);
    if (same === BODY || same === BODYROT) quat.set(UNIT, 4 * g);
    if (same === INERTIA) pos.set(body_ipos.subarray(3 * b, 3 * b + 3), 3 * g);
    if (same === INERTIA || same === INERTIAROT)
      quat.set(ownTurn ? UNIT : body_iquat.subarray(4 * b, 4 * b + 4), 4 * g);
  }
  return { geom_pos: pos, geom_quat: quat };
}

/**
 * Where geoms are beside their bodies as MuJoCo has them: one that lies within a micrometre of its body's frame, or of that
 * of its body's inertia, is there. As the model says where places were changed since, or are each world's own (`has`).
 */
export function sameFrames(model: Model, own: { has(field: string): boolean }): Pick<Model, "geom_pos" | "geom_quat"> {
  const { geom_pos, geom_quat } = model;
  const changed = new Set<string>(model.changes?.map(({ field }) => field));
  if (FIELDS.some((field) => changed.has(field) || own.has(field))) return { geom_pos, geom_quat };
  return besideBodies(model);
}
