// where corral differs from MuJoCo as documented: MuJoCo stops short of a result that corral computes to its end
import { mjtGeom, mjtSolver } from "../model/enums.ts";
import { withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import { geomPairs } from "../model/pairs.ts";

/** Documented differences, by the names that FEATURES.md has. */
export type Documented = "PGS" | "CG" | "capsule with cylinder";

/** Steps that end both of MuJoCo's loops at what float64 resolves. */
const TO_THE_END: OptionOverrides = { solver: "Newton", iterations: 200, ls_iterations: 200, tolerance: 1e-14 };
/** Its search of contacts, likewise. */
const SEARCHED: OptionOverrides = { ccd_tolerance: 1e-12, ccd_iterations: 500 };

/** Which documented differences steps of a model may show. */
export function documentedIn(model: Model): Documented[] {
  const found: Documented[] = [];
  if (model.opt.solver === mjtSolver.PGS) found.push("PGS");
  if (model.opt.solver === mjtSolver.CG) found.push("CG");
  const types = ({ geom1, geom2 }: { geom1: number; geom2: number }) =>
    [model.geom_type[geom1], model.geom_type[geom2]].sort((a, b) => a - b);
  const isSearched = (pair: { geom1: number; geom2: number }) => {
    const [a, b] = types(pair);
    return a === mjtGeom.CAPSULE && b === mjtGeom.CYLINDER;
  };
  if (geomPairs(model).some(isSearched)) found.push("capsule with cylinder");
  return found;
}

/** The model whose steps MuJoCo computes to the end; undefined where it does so anyway. */
export function toTheEnd(model: Model): Model | undefined {
  const found = documentedIn(model);
  if (found.length === 0) return undefined;
  const isSolver = found.includes("PGS") || found.includes("CG");
  return withOptions(model, {
    ...(isSolver ? TO_THE_END : {}),
    ...(found.includes("capsule with cylinder") ? SEARCHED : {}),
  });
}
