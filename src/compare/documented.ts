// where corral differs from MuJoCo as documented: MuJoCo stops short of a result that corral computes to its end
import { mjtGeom, mjtSolver } from "../model/enums.ts";
import { withOptions, type Model } from "../model/model.ts";
import { geomPairs, type GeomPair } from "../model/pairs.ts";

/** Documented differences, by the names that FEATURES.md has. */
export type Documented = "PGS" | "CG" | "Newton" | "capsule with cylinder";

const SOLVERS = { [mjtSolver.PGS]: "PGS", [mjtSolver.CG]: "CG", [mjtSolver.NEWTON]: "Newton" } as const;

/** Which documented differences steps of a model may show: its solver's, which stops at a tolerance, and searched contacts. */
export function documentedIn(model: Model): Documented[] {
  const solver = SOLVERS[model.opt.solver as keyof typeof SOLVERS];
  const isSearched = ({ geom1, geom2 }: GeomPair) => {
    const types = [model.geom_type[geom1], model.geom_type[geom2]];
    return types.includes(mjtGeom.CAPSULE) && types.includes(mjtGeom.CYLINDER);
  };
  return geomPairs(model).some(isSearched) ? [solver, "capsule with cylinder"] : [solver];
}

/** The model whose steps MuJoCo computes to what float64 resolves. */
export const toTheEnd = (model: Model): Model =>
  withOptions(model, {
    solver: "Newton",
    iterations: 200,
    ls_iterations: 200,
    tolerance: 1e-14,
    ...(documentedIn(model).includes("capsule with cylinder") ? { ccd_tolerance: 1e-12, ccd_iterations: 500 } : {}),
  });
