// dofs that move bodies, and that move two against each other
import type { Model } from "../../model/model.ts";
import type { GeomPair } from "../../model/pairs.ts";

/** The dofs that move a body, ascending. */
export function bodyDofs(model: Model, body: number): number[] {
  let b = body;
  while (b > 0 && model.body_dofnum[b] === 0) b = model.body_parentid[b];
  const dofs: number[] = [];
  if (b === 0) return dofs;
  for (let i = model.body_dofadr[b] + model.body_dofnum[b] - 1; i >= 0; i = model.dof_parentid[i]) dofs.unshift(i);
  return dofs;
}

/** The dofs that change the distance of a pair, with the sign of each: dofs common to both bodies cancel. */
export function pairDofs(model: Model, pair: GeomPair): Map<number, 1 | -1> {
  const first = bodyDofs(model, model.geom_bodyid[pair.geom1]);
  const second = bodyDofs(model, model.geom_bodyid[pair.geom2]);
  const out = new Map<number, 1 | -1>();
  for (const i of second) if (!first.includes(i)) out.set(i, 1);
  for (const i of first) if (!second.includes(i)) out.set(i, -1);
  return out;
}
