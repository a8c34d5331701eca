// matrices over dofs from what simulations read: the mass matrix in full, Jacobians of points
import { CorralError } from "../core/errors.ts";
import { badOption, optionsOf } from "../core/options.ts";
import { assertModel, idOf, type Model } from "./model.ts";

/** A body (its frame's origin), site or geom, by name or id. */
export type JacobianOf =
  | { readonly body: string | number }
  | { readonly site: string | number }
  | { readonly geom: string | number };

/**
 * The mass matrix in full (mj_fullM): row-major [worlds, nv, nv] from the sparse `M` of one world or several.
 * @throws CorralError bad-shape
 */
export function fullM(model: Model, M: ArrayLike<number>): Float64Array {
  assertModel(model);
  const { nv, nC } = model;
  const worlds = countOf("M", M, nC);
  const out = new Float64Array(worlds * nv * nv);
  for (let w = 0; w < worlds; w++) {
    for (let i = 0; i < nv; i++) {
      for (let k = model.M_rowadr[i]; k < model.M_rowadr[i] + model.M_rownnz[i]; k++) {
        const j = model.M_colind[k];
        out[(w * nv + i) * nv + j] = out[(w * nv + j) * nv + i] = M[w * nC + k];
      }
    }
  }
  return out;
}

/** What a Jacobian is made from, as getState gives it: of one world or several. */
export interface JacobianInput {
  readonly cdof: ArrayLike<number>;
  readonly subtree_com: ArrayLike<number>;
  readonly xpos?: ArrayLike<number>;
  readonly site_xpos?: ArrayLike<number>;
  readonly geom_xpos?: ArrayLike<number>;
}

/** Where the points of each kind are. */
const POINTS = { body: "xpos", site: "site_xpos", geom: "geom_xpos" } as const;

/**
 * Jacobians of the origin of a body's frame, a site or a geom (mj_jacBody, mj_jacSite, mj_jacGeom): velocity (jacp) and
 * angular velocity (jacr) in global axes for a unit rate of each dof, row-major [worlds, 3, nv]. From the outputs cdof,
 * subtree_com, and xpos, site_xpos or geom_xpos.
 * @throws CorralError unknown-name, bad-shape, missing-output
 */
export function jacobian(
  model: Model,
  input: JacobianInput,
  of: JacobianOf,
): { jacp: Float64Array; jacr: Float64Array } {
  assertModel(model);
  const [kind, given] = (Object.entries(Object(of) as object)[0] ?? []) as [
    keyof typeof POINTS | undefined,
    string | number,
  ];
  if (kind === undefined || !Object.hasOwn(POINTS, kind))
    throw badOption("of", of, "pass { body }, { site } or { geom } with its name or id");
  const id = typeof given === "number" ? given : idOf(model, kind, given);
  if (!(Number.isInteger(id) && id >= 0 && id < model.names[kind].length))
    throw badOption(kind, given, `the model has ${kind} 0 to ${model.names[kind].length - 1}`);
  const missing = (["cdof", "subtree_com", POINTS[kind]] as const).find((name) => !optionsOf(input, "input")[name]);
  const name = missing ?? POINTS[kind];
  const points = input[name];
  if (missing !== undefined || !points) {
    throw new CorralError(
      "missing-output",
      `the Jacobian of a ${kind} needs ${name}. Name it in outputs and read it.`,
      {
        name,
      },
    );
  }
  const body = { body: () => id, site: () => model.site_bodyid[id], geom: () => model.geom_bodyid[id] }[kind]();
  const { nv, nbody } = model;
  const worlds = countOf("cdof", input.cdof, 6 * nv);
  const rows = points.length / worlds;
  const [jacp, jacr] = [new Float64Array(worlds * 3 * nv), new Float64Array(worlds * 3 * nv)];
  for (let w = 0; w < worlds; w++) {
    const at = (values: ArrayLike<number>, start: number) => [values[start], values[start + 1], values[start + 2]];
    const point = at(points, w * rows + 3 * id);
    const centre = at(input.subtree_com, 3 * (w * nbody + model.body_rootid[body]));
    const [x, y, z] = point.map((p, k) => p - centre[k]);
    for (const dof of dofsOf(model, body)) {
      const [a, b, c] = at(input.cdof, 6 * (w * nv + dof));
      const own = at(input.cdof, 6 * (w * nv + dof) + 3);
      const turn = [b * z - c * y, c * x - a * z, a * y - b * x];
      for (let k = 0; k < 3; k++) {
        jacp[(w * 3 + k) * nv + dof] = own[k] + turn[k];
        jacr[(w * 3 + k) * nv + dof] = [a, b, c][k];
      }
    }
  }
  return { jacp, jacr };
}

/** The dofs that move a body. */
function dofsOf(model: Model, body: number): number[] {
  const b = model.body_weldid[body];
  const dofs: number[] = [];
  if (model.body_dofnum[b] === 0) return dofs;
  for (let i = model.body_dofadr[b] + model.body_dofnum[b] - 1; i >= 0; i = model.dof_parentid[i]) dofs.push(i);
  return dofs;
}

function countOf(name: string, values: ArrayLike<number>, size: number): number {
  if (size > 0 && values.length > 0 && values.length % size === 0) return values.length / size;
  throw new CorralError(
    "bad-shape",
    `${name} has ${values.length} numbers; a world has ${size}. Pass what getState returned of it, of whole worlds.`,
    {
      name,
      length: values.length,
    },
  );
}
