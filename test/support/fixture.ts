// a model in MuJoCo at states from seeds: what the stages are compared with
import { fieldSize, fieldsOf, type FieldName } from "../../src/model/fields.ts";
import { loadModel, withOptions, type Model } from "../../src/model/model.ts";
import { withMuJoCo, type Oracle, type OracleContact } from "../../src/model/oracle.ts";
import { historyBuffers, initialHistory } from "../../src/model/history.ts";
import { writeOption } from "../../src/model/options.ts";
import { checkSupported } from "../../src/model/supported.ts";
import { loadTestModel, randomState } from "./mjcf.ts";
import { createRandom, type Random } from "./mjcf-random.ts";
import { readRows, type EfcRow } from "./efc.ts";

export type Values = Readonly<Record<string, ArrayLike<number>>>;

/** mjContact and the force that mj_contactForce gives. */
export interface ContactTruth extends OracleContact {
  readonly force: Float64Array;
}

/** MuJoCo's data at one state. */
export interface Truth {
  /** Model and seed, for messages. */
  readonly label: string;
  readonly seed: number;
  /** Fields of the table after mj_forward, mj_rnePostConstraint and mj_subtreeVel. */
  readonly fields: Readonly<Record<string, Float64Array>>;
  readonly contacts: readonly ContactTruth[];
  readonly rows: readonly EfcRow[];
  /** actuator_moment as a dense matrix. */
  readonly moment: Float64Array;
  /** Fields after mj_step from the same state. */
  readonly next: Readonly<Record<string, Float64Array>>;
}

export interface Fixture {
  readonly name: string;
  /** The model as it was given. */
  readonly given: Model;
  /** The model with the solver's tolerances as tight as float64 has them. */
  readonly model: Model;
  readonly truths: readonly Truth[];
}

/** Fields that MuJoCo's data is given. */
export const STATE = [
  "time",
  "qpos",
  "qvel",
  "act",
  "ctrl",
  "qacc_warmstart",
  "qfrc_applied",
  "xfrc_applied",
  "mocap_pos",
  "mocap_quat",
  "history",
] as const satisfies readonly FieldName[];
const NOT_IN_MUJOCO = new Set(["userdata", "energy_vel", "solver_niter"]);
const TABLE = [...fieldsOf("state"), ...fieldsOf("derived")]
  .map((f) => f.name)
  .filter((name) => !NOT_IN_MUJOCO.has(name) && !/^(contact_|efc_|n[efl]$|nefc$|ncon$|time$)/.test(name));

function readFields(model: Model, { data, read }: Oracle): Record<string, Float64Array> {
  const out: Record<string, Float64Array> = {
    time: Float64Array.of(data.time),
    ncon: Float64Array.of(data.ncon),
    nefc: Float64Array.of(data.nefc),
    // no evaluation before this one has left an energy
    energy_vel: new Float64Array(fieldSize(model, "energy_vel")),
  };
  for (const name of TABLE) out[name] = fieldSize(model, name) ? read(name) : new Float64Array();
  return out;
}

function writeState({ data, write }: Oracle, state: Values): void {
  for (const [name, values] of Object.entries(state)) {
    if (name === "time") data.time = values[0];
    else if (values.length) write(name, values);
  }
}

/** Float32 numbers, so that rounding the state is no part of any difference. */
const round32 = (values: Values): Record<string, Float64Array> =>
  Object.fromEntries(Object.entries(values).map(([k, v]) => [k, Float64Array.from(Float32Array.from(v))]));

/** What a seed draws besides qpos, qvel, act and ctrl. */
function extras(model: Model, r: Random): Values {
  const fill = (n: number, x: number, chance = 1) =>
    Float64Array.from({ length: n }, () => (r.chance(chance) ? r.between(-x, x) : 0));
  const weight = Math.min(10, 5 * model.stat.meanmass);
  const quats = Float64Array.from({ length: 4 * model.nmocap }, (_, i) => (i % 4 === 0 ? 1 : r.between(-0.3, 0.3)));
  const at = Array.from({ length: 3 * model.nmocap }, (_, i) => {
    const body = model.body_mocapid.indexOf(Math.floor(i / 3));
    return model.body_pos[3 * body + (i % 3)] + r.between(-0.05, 0.05);
  });
  return {
    time: [r.between(0, 10)],
    qfrc_applied: fill(model.nv, 0.1 * weight, 0.3),
    xfrc_applied: fill(6 * model.nbody, 0.1 * weight, 0.2),
    mocap_pos: at,
    mocap_quat: quats,
    qacc_warmstart: fill(model.nv, 1),
    history: drawHistory(model, r),
  };
}

/** Samples that were not all zero. */
function drawHistory(model: Model, r: Random): number[] {
  const history = initialHistory(model);
  for (const { values, samples, dim } of historyBuffers(model))
    for (let k = 0; k < samples * dim; k++) history[values + k] = r.between(-1, 1);
  return history;
}

/**
 * A state from a seed: every third near the default pose, every third further away and faster, and the others where
 * MuJoCo gets from there in up to 80 steps, with its own qacc_warmstart.
 */
export function drawState(model: Model, oracle: Oracle, seed: number): Record<string, Float64Array> {
  const r = createRandom(7919 * seed + 17);
  const wide = seed % 3 === 2;
  const drawn = { ...randomState(model, seed, wide ? 0.4 : 0.05), ...extras(model, r) };
  if (seed % 3 !== 1) return round32(drawn);

  const { mujoco, model: m, data, read } = oracle;
  mujoco.mj_resetData(m, data);
  const steps = r.whole(5, 80);
  writeState(oracle, {
    ...drawn,
    qfrc_applied: new Float64Array(model.nv),
    xfrc_applied: new Float64Array(6 * model.nbody),
  });
  // any way there will do
  writeOption(m, {
    ...model.opt,
    tolerance: 1e-8,
    iterations: Math.min(model.opt.iterations, 50),
    ls_tolerance: 0.01,
    ls_iterations: 20,
  });
  for (let i = 0; i < steps; i++) mujoco.mj_step(m, data);
  writeOption(m, model.opt);
  return round32(
    Object.fromEntries(STATE.map((name) => [name, name === "time" ? [data.time] : readOr(read, model, name)])),
  );
}

const readOr = (read: Oracle["read"], model: Model, name: string) =>
  fieldSize(model, name as never) ? read(name) : new Float64Array();

function contactTruths(oracle: Oracle): ContactTruth[] {
  const { mujoco, model, data } = oracle;
  const buffer = new mujoco.DoubleBuffer(6);
  try {
    return oracle.contacts().map((c, i) => {
      mujoco.mj_contactForce(model, data, i, buffer);
      return { ...c, force: Float64Array.from(buffer.GetView() as Float64Array) };
    });
  } finally {
    buffer.delete();
  }
}

function denseMoment(model: Model, { data }: Oracle): Float64Array {
  const out = new Float64Array(model.nactuator * model.nv);
  const d = data as unknown as Record<string, ArrayLike<number>>;
  for (let i = 0; i < model.nactuator; i++) {
    for (let k = d.moment_rowadr[i]; k < d.moment_rowadr[i] + d.moment_rownnz[i]; k++) {
      out[i * model.nv + d.moment_colind[k]] = d.actuator_moment[k];
    }
  }
  return out;
}

/** MuJoCo's data at a state. */
export function truthAt(
  model: Model,
  oracle: Oracle,
  state: Record<string, Float64Array>,
  label: string,
  seed: number,
): Truth {
  const { mujoco, model: m, data } = oracle;
  mujoco.mj_resetData(m, data);
  writeState(oracle, state);
  mujoco.mj_forward(m, data);
  mujoco.mj_rnePostConstraint(m, data);
  mujoco.mj_subtreeVel(m, data);
  const fields = readFields(model, oracle);
  const [contacts, rows, moment] = [contactTruths(oracle), readRows(model, oracle), denseMoment(model, oracle)];

  mujoco.mj_resetData(m, data);
  writeState(oracle, state);
  mujoco.mj_step(m, data);
  return { label, seed, fields: { ...fields, ...state }, contacts, rows, moment, next: readFields(model, oracle) };
}

/** Where a fixture's model comes from: a model, MJCF text, or a name in test/models or "envs/...". */
export type ModelChoice = Model | string;

const load = (choice: ModelChoice): Promise<Model> =>
  typeof choice !== "string"
    ? Promise.resolve(choice)
    : choice.trimStart().startsWith("<")
      ? loadModel(choice)
      : loadTestModel(choice);

/**
 * A model and MuJoCo's data at one state for each seed, or at given states. MuJoCo's solver runs to the minimum, so
 * that solutions can be compared.
 */
export async function fixture(
  choice: ModelChoice,
  seeds: readonly number[],
  states?: readonly Values[],
): Promise<Fixture> {
  const loaded = await load(choice);
  checkSupported(loaded);
  const tight = { tolerance: 1e-15, ls_tolerance: 1e-6, ls_iterations: 100 };
  // few iterations are to be compared as they are
  const model = loaded.opt.iterations >= 20 ? withOptions(loaded, { ...tight, iterations: 500 }) : loaded;
  const name = model.name || "unnamed";
  return withMuJoCo(model, (oracle) => {
    const truths = seeds.map((seed, i) => {
      const state = states ? round32(states[i]) : drawState(model, oracle, seed);
      return truthAt(model, oracle, state, `${name}, seed ${seed}`, seed);
    });
    return { name, given: loaded, model, truths };
  });
}
