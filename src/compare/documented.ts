// where corral differs from MuJoCo as documented: MuJoCo stops short of a result that corral computes to its end
import { withChanges } from "../model/changes.ts";
import { mjtGeom, mjtSolver } from "../model/enums.ts";
import { withOptions, type Model } from "../model/model.ts";
import type { ModelChange } from "../model/model-data.ts";
import { geomPairs, hasFormula, type GeomPair } from "../model/pairs.ts";
import { FEW_ITERATIONS } from "../physics/solver/precision.ts";

/** Documented differences, by the names that FEATURES.md has. */
export type Documented = "CG" | "Newton" | "searched contacts";

const SOLVERS: Readonly<Record<number, Documented>> = { [mjtSolver.CG]: "CG", [mjtSolver.NEWTON]: "Newton" };

/** Which documented differences steps of a model may show: its solver's, which stops at a tolerance, and searched contacts. */
export function documentedIn(model: Model): Documented[] {
  const solver = solverThatStops(model);
  const known = solver ? [solver] : [];
  const isSearched = ({ geom1, geom2 }: GeomPair) => !hasFormula([model.geom_type[geom1], model.geom_type[geom2]]);
  return geomPairs(model).some(isSearched) ? [...known, "searched contacts"] : known;
}

/**
 * Without a margin MuJoCo ends its search of boxes and meshes on height fields before it has the least overlap (decision
 * 0039); the smallest of margins has it go on.
 */
function hfieldMargins(model: Model): ModelChange[] {
  const isField = (geom: number) => model.geom_type[geom] === mjtGeom.HFIELD;
  const raised = (field: "geom_margin" | "pair_margin", index: number): ModelChange[] =>
    model[field][index] === 0 ? [{ field, index, value: HFIELD_MARGIN, derived: false }] : [];
  // an explicit pair has a margin of its own
  const explicit = geomPairs(model).filter(({ geom1, ipair }) => ipair >= 0 && isField(geom1));
  return [
    ...Array.from(model.geom_type, (_, geom) => geom).flatMap((g) => (isField(g) ? raised("geom_margin", g) : [])),
    ...explicit.flatMap(({ ipair }) => raised("pair_margin", ipair)),
  ];
}

/** m; deepens contacts by one and a half of it. */
const HFIELD_MARGIN = 1e-9;

/** PGS stops in corral where it stops in MuJoCo; so does any solver of few iterations, whose path is part of the result. */
const solverThatStops = ({ opt }: Model): Documented | undefined =>
  opt.iterations < FEW_ITERATIONS ? undefined : SOLVERS[opt.solver];

/** The model whose steps MuJoCo computes to what float64 resolves; of PGS and few iterations its searches alone, on the solver's own path. */
export const toTheEnd = (model: Model): Model =>
  withOptions(withChanges(model, hfieldMargins(model)), {
    ...(solverThatStops(model) && { solver: "Newton", iterations: 200, ls_iterations: 200, tolerance: 1e-14 }),
    ...(documentedIn(model).includes("searched contacts") ? { ccd_tolerance: 1e-12, ccd_iterations: 500 } : {}),
  });
