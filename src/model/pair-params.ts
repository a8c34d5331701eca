// what two geoms give the contacts between them (mj_contactParam)
import { mjMINMU, mjMINVAL } from "./enums.ts";
import type { Model } from "./model-data.ts";

const row = (values: Float64Array, id: number, width: number) =>
  Array.from(values.subarray(id * width, (id + 1) * width));

/** Weight of the first geom when parameters are mixed. */
function mixWeight(s1: number, s2: number): number {
  if (s1 >= mjMINVAL && s2 >= mjMINVAL) return s1 / (s1 + s2);
  if (s1 < mjMINVAL && s2 < mjMINVAL) return 0.5;
  return s1 < mjMINVAL ? 0 : 1;
}

/** Parameters of contacts; names are those of `GeomPair`. */
export interface ContactParams {
  readonly condim: number;
  readonly friction: readonly number[];
  readonly solref: readonly number[];
  readonly solimp: readonly number[];
  readonly adhesion: number;
}

/** Parameters of one geom's contacts. */
function ownParams(model: Model, g: number): ContactParams {
  const [slide, spin, roll] = row(model.geom_friction, g, 3);
  return {
    condim: model.geom_condim[g],
    friction: [slide, slide, spin, roll, roll],
    solref: row(model.geom_solref, g, 2),
    solimp: row(model.geom_solimp, g, 5),
    adhesion: model.geom_adhesion[g],
  };
}

/** Combined parameters of two geoms (mj_contactParam). */
function mixedParams(model: Model, g1: number, g2: number): ContactParams {
  const [p1, p2] = [ownParams(model, g1), ownParams(model, g2)];
  const [priority1, priority2] = [model.geom_priority[g1], model.geom_priority[g2]];
  if (priority1 !== priority2) return priority1 > priority2 ? p1 : p2;

  const mix = mixWeight(model.geom_solmix[g1], model.geom_solmix[g2]);
  const blend = (a: readonly number[], b: readonly number[]) => a.map((x, i) => mix * x + (1 - mix) * b[i]);
  const lower = (a: readonly number[], b: readonly number[]) => a.map((x, i) => Math.min(x, b[i]));

  // two time constants mix; stiffness and damping given directly (negative) take the lower
  const standard = p1.solref[0] > 0 && p2.solref[0] > 0;
  return {
    condim: Math.max(p1.condim, p2.condim),
    friction: p1.friction.map((x, i) => Math.max(x, p2.friction[i])),
    solref: standard ? blend(p1.solref, p2.solref) : lower(p1.solref, p2.solref),
    solimp: blend(p1.solimp, p2.solimp),
    adhesion: p1.adhesion + p2.adhesion,
  };
}

/** Of each geom the number of its kind: those of one kind have the same values. */
export function kindsOf(ngeom: number, of: (geom: number) => readonly number[]): number[] {
  const kinds = new Map<string, number>();
  return Array.from({ length: ngeom }, (_, g) => {
    const key = of(g).join();
    if (!kinds.has(key)) kinds.set(key, kinds.size);
    return kinds.get(key)!;
  });
}

/** The same, made once for geoms that do not differ in what is combined: pairs are many more than kinds of geoms. */
export function sharedParams(model: Model) {
  const kindOf = kindsOf(model.ngeom, (g) => {
    const { condim, friction, solref, solimp, adhesion } = ownParams(model, g);
    return [condim, ...friction, ...solref, ...solimp, adhesion, model.geom_priority[g], model.geom_solmix[g]];
  });
  const known = new Map<number, ContactParams>();
  const of = (g1: number, g2: number): ContactParams => {
    const key = kindOf[g1] * model.ngeom + kindOf[g2];
    let params = known.get(key);
    if (!params) {
      const mixed = mixedParams(model, g1, g2);
      params = { ...mixed, friction: bounded(mixed.friction) };
      known.set(key, params);
    }
    return params;
  };
  return { kindOf, of };
}

/** Friction as MuJoCo bounds it. */
export const bounded = (friction: readonly number[]): readonly number[] => friction.map((x) => Math.max(mjMINMU, x));
