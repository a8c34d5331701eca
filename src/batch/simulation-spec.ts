// what a simulation is made of: its options, its arenas, its kernel, before any device
import { inLine } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { badOption, checked, fillIn, NAMES, sortOut, unknownOption, type Given } from "../core/options.ts";
import { mjtCone, mjtSolver } from "../model/enums.ts";
import { fieldSize, fieldsOf, type FieldName } from "../model/fields.ts";
import { assertModel, withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import { withLimits, type JointLimits } from "../model/limits.ts";
import { checkSupported } from "../model/supported.ts";
import type { Plan } from "../memory/plan.ts";
import type { ArenaRequest } from "../memory/request.ts";
import { planOf, type BatchSpec, type PlanContext, type PlannedBatch } from "./batch.ts";
import { planContext, planFor } from "./device.ts";
import { adjustableIn, adjustedIn } from "./adjustable.ts";
import { numEnvsOf, SIMULATION_OPTIONS } from "./options.ts";
import { capacitiesOf, mayOverflow, traceSimulation } from "./kernel/simulation-kernel.ts";
import { simParams } from "./params.ts";
import { defaultContacts, unrollByDefault } from "./kernel/form.ts";
import type { Target } from "./kernel/emission.ts";
import { isWide } from "./kernel/wide.ts";
import { snapshotArenas } from "./snapshot.ts";
import { fieldRequest, stateFields } from "./kernel/record-io.ts";

/** Options of a simulation; `SIMULATION_OPTIONS` says what each means. Those of mjOption override the model's. */
export interface SimulationOptions extends OptionOverrides, Omit<Given<typeof SIMULATION_OPTIONS>, "numEnvs"> {
  readonly numEnvs: number;
}

/** Crash tools of environments: a bare simulation has no control steps and no results to judge. */
const OF_TASKS = ["recorder", "monitor", "trip", "onNonFinite", "onOverflow"];

/** The model with the options of mjOption among `options` applied. */
function overridden(model: Model, options: SimulationOptions): Model {
  const wrong = OF_TASKS.find((name) => (options as unknown as Record<string, unknown>)[name] !== undefined);
  if (wrong !== undefined) {
    throw new CorralError(
      "needs-task",
      `a simulation has no ${wrong}; environments do. Make one of this model, makeVec(defineTask({ id, model, frameSkip, ... }), { ${wrong} }), or look at status() after a step.`,
      { name: wrong },
    );
  }
  const { own, others } = sortOut(SIMULATION_OPTIONS, options);
  fillIn(SIMULATION_OPTIONS, own, { of: "a simulation" });
  const physics = Object.keys(model.opt);
  const unknown = Object.keys(others).find((name) => !physics.includes(name));
  if (unknown !== undefined)
    throw unknownOption("a simulation", unknown, [...Object.keys(SIMULATION_OPTIONS), ...physics]);
  return Object.keys(others).length ? withOptions(model, others) : model;
}

function checkOutputs(outputs: readonly string[]): void {
  const known = fieldsOf("derived").map((f) => f.name as string);
  for (const [i, name] of checked("outputs", NAMES, outputs).entries()) {
    if (outputs.indexOf(name) < i)
      throw badOption("outputs", outputs, `"${inLine(name)}" is in it twice: name it once`);
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    throw new CorralError(
      "unknown-field",
      `outputs names "${inLine(name)}", which is no derived field that can be read` +
        (near.length ? `; nearest that can be read: ${near.join(", ")}.` : "."),
      { name },
    );
  }
}

/** Throws `bad-option` for forces of rows that a solver does not leave: PGS and noslip keep those of pyramids together. */
function checkForces({ opt }: Model, outputs: readonly string[]): void {
  const dual = opt.solver === mjtSolver.PGS || opt.noslip_iterations > 0;
  if (!outputs.includes("efc_force") || !dual || opt.cone !== mjtCone.PYRAMIDAL) return;
  throw new CorralError(
    "bad-option",
    `outputs names "efc_force", which PGS and noslip do not leave of pyramidal cones; read contact_force, or pass cone: "elliptic".`,
    { name: "efc_force" },
  );
}

/** The batch behind a simulation, for any count of worlds. */
function simulationSpec(given: Model, options: SimulationOptions): (numEnvs: number) => BatchSpec {
  const adjustable = options.adjustable ?? [];
  const { model, params: adjusted } = adjustableIn(given, adjustable);
  const applied = options.applied ?? true;
  const outputs = options.outputs ?? [];
  const nconmax = options.nconmax ?? defaultContacts(model);
  const base = {
    model,
    nconmax,
    applied,
    outputs,
    exact: options.device === "cpu-f64",
  };
  const size = (name: FieldName) => fieldSize(model, name, capacitiesOf(base));
  const params = [...simParams(model), ...adjusted];
  const state: ArenaRequest[] = [
    {
      name: "state",
      access: "read_write",
      fields: stateFields(model, applied).map((n) => fieldRequest(n, "state", size(n))),
    },
    ...(model.nu > 0
      ? [{ name: "control", access: "read_write" as const, fields: [fieldRequest("ctrl", "state", model.nu)] }]
      : []),
  ];
  const names = params.map((p) => ({ name: p.name, type: p.type }));
  const wide = (target: Target) => isWide(model, options.arithmetic, target, true);
  return (numEnvs) => ({
    name: model.name || "simulation",
    mjcf: model.source.xml,
    numEnvs,
    params,
    unrolled: (target) => options.unroll ?? unrollByDefault(model, target, wide(target)),
    wide,
    arenas: [
      ...state,
      {
        name: "derived",
        access: "read_write",
        fields: [
          ...outputs.filter((n) => size(n) > 0).map((n) => fieldRequest(n, "derived", size(n), "fewer outputs")),
          { name: "status", group: "task", type: "u32", perWorld: mayOverflow(base) ? 2 : 1 },
        ],
      },
      ...(options.snapshotEvery === undefined ? [] : snapshotArenas(state)),
    ],
    kernels: [
      {
        name: "step",
        isStep: true,
        trace: (arenas, form) =>
          traceSimulation(
            { ...base, state: arenas.state, params: names, perWorld: adjustedIn(adjustable) },
            { control: arenas.control, derived: arenas.derived },
            form,
          ),
      },
    ],
  });
}

/**
 * The bytes of a simulation, field by field, without a device; `device: "wasm"` plans for one without an adapter.
 * @throws what createSimulation throws for its arguments; emitter-not-ready in pages
 */
export function planSimulation(model: Model, options: SimulationOptions, context: PlanContext = {}): Plan {
  return planFor(prepare(model, options).specFor(options.numEnvs), options, context).plan;
}

/** The traced kernels and the plan of a simulation, without a device. */
export function planKernels(model: Model, options: SimulationOptions, context: PlanContext = {}): PlannedBatch {
  const { specFor } = prepare(model, options);
  return planOf(specFor(options.numEnvs), planContext(options, options.numEnvs, context));
}

/** The model with its limits. Throws `needs-task` for what only an episode can do. */
function limited(model: Model, limits: JointLimits | undefined): Model {
  const { model: m, drawn, terminate } = withLimits(model, limits);
  const [what] = [
    drawn.length > 0 && "a range or a speed that worlds draw",
    terminate.length > 0 && "terminate",
  ].filter(Boolean);
  if (!what) return m;
  throw new CorralError(
    "needs-task",
    `limits has ${what}; a simulation has no episodes, environments do. Give numbers, or makeVec(defineTask({ id, model, frameSkip, ... }), { limits }).`,
    {},
  );
}

/** Checks the options, applies those of mjOption, and returns the batch for any count of worlds. */
export function prepare(model: Model, options: SimulationOptions) {
  assertModel(model);
  numEnvsOf(options);
  const m0 = overridden(model, options);
  checkOutputs(options.outputs ?? []);
  const m = limited(m0, options.limits);
  checkSupported(m);
  checkForces(m, options.outputs ?? []);
  return { model: m, specFor: simulationSpec(m, options) };
}
