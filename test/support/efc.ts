// constraint rows: MuJoCo's efc_* arrays, and our rows and contacts written out in the same form
import { mjtCone } from "../../src/model/enums.ts";
import type { Model } from "../../src/model/model.ts";
import type { Oracle } from "../../src/model/oracle.ts";

/** One row of the constraint Jacobian. */
export interface EfcRow {
  /** mjtConstraint: friction loss, limit, contact. */
  readonly type: number;
  /** The dof, joint or contact. */
  readonly id: number;
  readonly J: readonly number[];
  readonly pos: number;
  readonly margin: number;
  readonly D: number;
  readonly R: number;
  readonly aref: number;
  readonly force: number;
}

/** mjData's efc_* arrays, row by row. */
export function readRows(model: Model, oracle: Oracle): EfcRow[] {
  const { mujoco, model: m, data } = oracle;
  const d = data as unknown as Record<string, ArrayLike<number>>;
  const { nv } = model;
  const sparse = mujoco.mj_isSparse(m) !== 0;
  return Array.from({ length: data.nefc }, (_, i) => {
    const J = Array<number>(nv).fill(0);
    if (sparse) {
      const adr = d.efc_J_rowadr[i];
      for (let k = adr; k < adr + d.efc_J_rownnz[i]; k++) J[d.efc_J_colind[k]] = d.efc_J[k];
    } else for (let k = 0; k < nv; k++) J[k] = d.efc_J[i * nv + k];
    const at = (name: string) => d[`efc_${name}`][i];
    return {
      type: at("type"),
      id: at("id"),
      J,
      pos: at("pos"),
      margin: at("margin"),
      D: at("D"),
      R: at("R"),
      aref: at("aref"),
      force: at("force"),
    };
  });
}

/** One of our contacts: rows of its frame, before the cone is written out. */
export interface ContactBlock {
  readonly condim: number;
  readonly friction: readonly number[];
  /** R of a tangent against that of the normal, inverted (elliptic). */
  readonly tangentD: readonly number[];
  readonly D: number;
  readonly aref: readonly number[];
  readonly J: readonly (readonly number[])[];
}

/** The Jacobian, D and aref of the rows that MuJoCo makes of a contact. */
export function contactRowsOf(model: Model, c: ContactBlock): Pick<EfcRow, "J" | "D" | "aref">[] {
  if (c.condim === 1) return [{ J: c.J[0], D: c.D, aref: c.aref[0] }];
  if (model.opt.cone === mjtCone.ELLIPTIC) {
    return c.J.slice(0, c.condim).map((J, k) => ({ J, D: k === 0 ? c.D : c.D * c.tangentD[k - 1], aref: c.aref[k] }));
  }
  // edges of the pyramid: normal plus and minus each direction
  return c.J.slice(1, c.condim).flatMap((Jk, k) =>
    [c.friction[k], -c.friction[k]].map((mu) => ({
      J: c.J[0].map((x, i) => x + mu * Jk[i]),
      D: c.D,
      aref: c.aref[0] + mu * c.aref[k + 1],
    })),
  );
}
