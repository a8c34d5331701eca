// MuJoCo itself, beside us: a live float64 model and data of the same source and options
import { CorralError } from "../core/errors.ts";
import { writeChanges } from "./changes.ts";
import { mjtState } from "./enums.ts";
import { assertModel, type Model } from "./model-data.ts";
import { fromMuJoCoHistory, toMuJoCoHistory } from "./history.ts";
import {
  copyArray,
  dropMuJoCo,
  getMuJoCo,
  listen,
  mujocoMessage,
  type MainModule,
  type MjData,
  type MjModel,
} from "./mujoco.ts";
import { writeOption } from "./options.ts";

/** mjContact as plain data. */
export interface OracleContact {
  readonly geom: readonly [number, number];
  readonly dist: number;
  readonly dim: number;
  readonly exclude: number;
  readonly efc_address: number;
  readonly includemargin: number;
  readonly mu: number;
  readonly pos: Float64Array;
  readonly frame: Float64Array;
  readonly friction: Float64Array;
  readonly solref: Float64Array;
  readonly solreffriction: Float64Array;
  readonly solimp: Float64Array;
}

/** Copies mjData.contact, in MuJoCo's order. */
function readContacts(data: MjData): OracleContact[] {
  const vector = data.contact;
  try {
    return Array.from({ length: data.ncon }, (_, i) => {
      const c = vector.get(i)!;
      try {
        const copy = (view: ArrayLike<number>) => Float64Array.from(view);
        return {
          geom: [c.geom[0], c.geom[1]] as const,
          dist: c.dist,
          dim: c.dim,
          exclude: c.exclude,
          efc_address: c.efc_address,
          includemargin: c.includemargin,
          mu: c.mu,
          pos: copy(c.pos),
          frame: copy(c.frame),
          friction: copy(c.friction),
          solref: copy(c.solref),
          solreffriction: copy(c.solreffriction),
          solimp: copy(c.solimp),
        };
      } finally {
        c.delete();
      }
    });
  } finally {
    vector.delete();
  }
}

/**
 * A live MuJoCo model and its data. Everything read from `data` by property is a view that another oracle's creation
 * may detach: use `read` for a copy. `delete()` it, or declare it with `using`.
 */
export interface Oracle extends Disposable {
  readonly mujoco: MainModule;
  readonly model: MjModel;
  readonly data: MjData;
  /** A copy of an array of mjData; `history` with times relative to the data's, in their order. */
  readonly read: (name: string) => Float64Array;
  /** Writes an array of mjData, whole; `history` after the time. */
  readonly write: (name: string, values: ArrayLike<number>) => void;
  /** The contacts, as plain data in MuJoCo's order. */
  readonly contacts: () => OracleContact[];
  readonly delete: () => void;
}

/** Bytes of the models and data of a module that are alive. */
const held = new WeakMap<MainModule, number>();

/** With more than this alive a module that has no room is full; with less its compiler has left it without memory. */
const MOST_HELD = 2 ** 30;

/** MuJoCo's model and data, in a module. */
interface Made {
  readonly mujoco: MainModule;
  readonly mjModel: MjModel;
  readonly mjData: MjData;
}

function makeIn(mujoco: MainModule, model: Model, compile: (mujoco: MainModule) => MjModel): Made {
  const mjModel = compile(mujoco);
  writeOption(mjModel, model.opt);
  try {
    return { mujoco, mjModel, mjData: new mujoco.MjData(mjModel) };
  } catch (cause) {
    mjModel.delete();
    throw new CorralError(
      "mujoco-memory",
      `MuJoCo's WebAssembly build, which holds 2 GiB, has no room for another mjData: ${mujocoMessage(cause)}. Delete oracles that are no longer used, or set <size memory="..."/>.`,
      { model: model.name },
      { cause },
    );
  }
}

/**
 * MuJoCo's model and data, made from the source, the options and the changed numbers of a model. `forceLimited`: actuators
 * that get a range of their forces, whatever it is.
 * @throws CorralError bad-model, mujoco-memory.
 */
export async function createOracle(model: Model, forceLimited: readonly number[] = []): Promise<Oracle> {
  assertModel(model);
  // a page that asks MuJoCo nothing loads neither
  const [{ compileSource }, first] = await Promise.all([import("./compile-source.ts"), getMuJoCo()]);
  const compile = (mujoco: MainModule) => compileSource(mujoco, model.source, { forceLimited }).model;
  let made: Made;
  try {
    made = makeIn(first, model, compile);
  } catch (error) {
    const isFull = error instanceof CorralError && error.code === "mujoco-memory";
    if (!isFull || (held.get(first) ?? 0) > MOST_HELD) throw error;
    // what is gone left the module without memory
    dropMuJoCo(first);
    made = makeIn(await getMuJoCo(), model, compile);
  }
  const { mujoco, mjModel, mjData } = made;
  // a mass that is not positive shows in what happens to the world, not in MuJoCo's warnings here
  listen(() => writeChanges(mujoco, mjModel, mjData, model.changes ?? []));
  let live = true;
  const bytes = mjModel.nbuffer + mjModel.narena;
  const hold = (sign: number) => held.set(mujoco, (held.get(mujoco) ?? 0) + sign * bytes);
  hold(1);

  /** Bools, which cannot be read by name. */
  function readActive(): Float64Array {
    const buffer = new mujoco.DoubleBuffer(mjModel.neq);
    try {
      mujoco.mj_getState(mjModel, mjData, buffer, mjtState.EQ_ACTIVE);
      return Float64Array.from(buffer.GetView() as Float64Array);
    } finally {
      buffer.delete();
    }
  }

  function remove(): void {
    if (!live) return;
    live = false;
    hold(-1);
    try {
      listen(() => {
        mjData.delete();
        mjModel.delete();
      });
    } catch (error) {
      // a module that another model crashed has nothing left to free
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    }
  }

  return {
    mujoco,
    model: mjModel,
    data: mjData,
    read(name) {
      if (name === "eq_active") return readActive();
      const values = Float64Array.from(copyArray(mjData, name));
      return name === "history" ? fromMuJoCoHistory(model, values, mjData.time) : values;
    },
    write(name, values) {
      if (name === "eq_active") {
        mujoco.mj_setState(mjModel, mjData, Array.from(values, Number), mjtState.EQ_ACTIVE);
        return;
      }
      const view = (mjData as unknown as Record<string, Float64Array>)[name];
      if (view?.length !== values.length) {
        throw new CorralError(
          "oracle-size",
          `${name} of mjData holds ${view?.length ?? "no"} numbers, ${values.length} were given.`,
          { name },
        );
      }
      view.set(name === "history" ? toMuJoCoHistory(model, values, mjData.time) : values);
    },
    contacts: () => readContacts(mjData),
    delete: remove,
    [Symbol.dispose]: remove,
  };
}

/** Bytes that an oracle of the model takes: mjModel and mjData, its arena included. */
export const oracleBytes = (model: Model): Promise<number> =>
  withMuJoCo(model, ({ model: mj, data }) => mj.nbuffer + data.nbuffer + data.narena);

/** Runs a function with an oracle and deletes it afterwards, whatever happens. */
export async function withMuJoCo<T>(model: Model, use: (oracle: Oracle) => T | Promise<T>): Promise<T> {
  const oracle = await createOracle(model);
  try {
    return await use(oracle);
  } finally {
    oracle.delete();
  }
}
