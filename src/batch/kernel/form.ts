// which form a model's kernels take: straight-line code, or runtime loops over tables
import type { ArenaRequest } from "../../memory/request.ts";
import { fieldSize, type StateFieldName } from "../../model/fields.ts";
import { constraintBound, geomPairs } from "../../model/pairs.ts";
import { MOST_CONTACTS } from "../../model/rest-contacts.ts";
import { unsupportedFeatures } from "../../model/supported.ts";
import type { Model } from "../../model/model.ts";
import { pairDofs } from "../../physics/constraint/body-dofs.ts";
import { rowDofs } from "../../physics/constraint/make_constraint.ts";
import { solvesByBodies } from "../../physics/smooth/inertia.ts";
import { hasLightChain, isWrittenOut } from "../../physics/smooth/light-chains.ts";
import { coupledSparsity } from "../../physics/smooth/sparsity.ts";
import { costOf, type Cost } from "../../trace/cost.ts";
import { layoutsOf, planArenas } from "../batch.ts";
import { mostCompileSeconds } from "./compile-cost.ts";
import type { Target } from "./emission.ts";
import { mayOverflow, traceSimulation } from "./simulation-kernel.ts";
import { simParams } from "../params.ts";
import { fieldRequest, stateFields } from "./record-io.ts";

/** Products of one factorisation beyond which straight-line code is not even traced: it takes minutes to compile, or to emit. */
const MAX_FACTOR_PRODUCTS = { driver: 12_000, none: 16_000 };
/** Bodies beyond which the smooth dynamics alone are too long. */
const MAX_BODIES = 80;
/** Dofs in a line beyond which what depends on what is too deep: registers run out, and compiling takes a minute. */
const MAX_DEPTH = 20;
/** Dofs times bodies below which any model compiles soon: it is not traced to be judged. */
const SMALL = 340;
/** Processor seconds that compiling may take on a software driver; a task's own terms come on top, up to 20. */
export const MOST_COMPILE_SECONDS = 15;

/** Dofs beyond which GPUs' registers and instruction caches are too small for straight-line code (docs/decisions/0043). */
const MAX_DOFS_ON_GPU = 15;

/** Operations of straight-line code beyond which it takes long to emit (docs/decisions/0122). */
const MOST_OPERATIONS = 120_000;

const known = new WeakMap<Model, Partial<Record<Target, boolean>>>();

/**
 * Whether a model's kernels are straight-line code unless an option says otherwise: it steps one and a half to three times
 * as fast as loops, but large models take long to compile, and on GPUs run out of registers. A function of the model and of
 * the kind of device alone, so that a plan, a bundle and a resumed run mean the same kernels on every machine of the kind.
 */
export function unrollByDefault(model: Model, target: Target = "software", isWide = false): boolean {
  // loops go over articulated bodies, which need no factor of M
  if (!isWide && hasLightChain(model) && !isWrittenOut(model) && solvesByBodies(model)) return false;
  if (target === "gpu") return model.nv <= MAX_DOFS_ON_GPU && unsupportedFeatures(model).length === 0;
  const before = known.get(model) ?? {};
  known.set(model, before);
  return (before[target] ??= isShort(model, target));
}

function isShort(model: Model, target: Target): boolean {
  const depth = model.M_rownnz.reduce((most, n) => Math.max(most, n), 0);
  if (model.nbody > MAX_BODIES || depth > MAX_DEPTH || unsupportedFeatures(model).length > 0) return false;
  const groups = [...geomPairs(model).map((p) => [...pairDofs(model, p).keys()]), ...rowDofs(model)];
  const { rows } = coupledSparsity(model, groups);
  const products = rows.reduce((n, { length }) => n + (length * (length - 1)) / 2, 0);
  if (products > MAX_FACTOR_PRODUCTS[target === "none" ? "none" : "driver"]) return false;
  if (model.nv * model.nbody <= SMALL) return true;
  const cost = simulationCost(model, true);
  return target === "none" ? cost.arithmetic <= MOST_OPERATIONS : mostCompileSeconds(cost) <= MOST_COMPILE_SECONDS;
}

/** What the kernel of a simulation of a model costs in a form. */
export function simulationCost(model: Model, unroll: boolean): Cost {
  const nconmax = defaultContacts(model);
  const params = simParams(model);
  const fields = (names: readonly StateFieldName[]) =>
    names.map((name) => fieldRequest(name, "state", fieldSize(model, name)));
  const perWorld = mayOverflow({ model, nconmax }) ? 2 : 1;
  const arenas: ArenaRequest[] = [
    { name: "state", access: "read_write", fields: fields(stateFields(model, true)) },
    ...(model.nu > 0 ? [{ name: "control", access: "read_write" as const, fields: fields(["ctrl"]) }] : []),
    { name: "derived", access: "read_write", fields: [{ name: "status", group: "task", type: "u32", perWorld }] },
  ];
  const { state, control, derived } = layoutsOf(planArenas({ name: "cost", numEnvs: 1, params, arenas, kernels: [] }));
  const names = params.map(({ name, type }) => ({ name, type }));
  const spec = { model, nconmax, applied: true, outputs: [], state, params: names };
  return costOf(traceSimulation(spec, { control, derived }, { unroll }));
}

/** Times the contacts of its start that a world has room for. */
const REST_MARGIN = 1.5;
/** A file's own count is heard up to here: many say thousands, and lanes of GPUs keep the room of each contact. */
const MOST_ASKED = 2 * MOST_CONTACTS;

/**
 * Room for contacts if none is asked for: all that the candidate pairs can make, or, where that is more than most worlds
 * keep, what the file says and half as many again as there are where it starts.
 */
export function defaultContacts(model: Model): number {
  const atRest = Math.ceil(REST_MARGIN * (model.restContacts ?? 0));
  return Math.min(
    constraintBound(model).nconmax,
    Math.max(MOST_CONTACTS, Math.min(model.nconmax ?? 0, MOST_ASKED), atRest),
  );
}
