// reads what MuJoCo has compiled into plain data
import { CorralError } from "../core/errors.ts";
import { compileSource, hasCompiled, type Compiled } from "./compile-source.ts";
import { fieldSize, fieldsOf, SIZES, type ModelArrays, type Sizes } from "./fields.ts";
import { readHulls } from "./hulls.ts";
import { NAMED, type Model, type ModelStatistic, type ObjectKind } from "./model-data.ts";
import { copyArray, getMuJoCo, readBools, type MainModule, type MjModel } from "./mujoco.ts";
import { readOption } from "./options.ts";
import { withPairsOf } from "./pairs.ts";
import { restContacts } from "./rest-contacts.ts";
import { restRounding } from "./rest-rounding.ts";
import type { ModelSource } from "./source.ts";
import { readSurfaces } from "./surfaces.ts";
import { readTaxels } from "./taxels.ts";
import type { LeftOut } from "./visuals.ts";

/** The zero-terminated text at an offset. */
function textAt(bytes: Uint8Array, offset: number): string {
  return new TextDecoder().decode(bytes.subarray(offset, bytes.indexOf(0, offset)));
}

function readNames(model: MjModel): Model["names"] {
  const bytes = copyArray(model, "names") as Uint8Array;
  const out: Partial<Record<ObjectKind, string[]>> = {};
  for (const kind of Object.keys(NAMED) as ObjectKind[]) {
    const addresses = copyArray(model, NAMED[kind][1]);
    out[kind] = Array.from(addresses, (at) => textAt(bytes, at));
  }
  return out as Model["names"];
}

function readStatistic(model: MjModel): ModelStatistic {
  const stat = model.stat;
  try {
    const { meaninertia, meanmass, meansize, extent } = stat;
    return { meaninertia, meanmass, meansize, extent, center: Array.from(stat.center as Float64Array) };
  } finally {
    stat.delete();
  }
}

/** Copies an mjModel into plain data. */
function readModel(model: MjModel, source: ModelSource, warnings: readonly string[], leftOut?: LeftOut): Model {
  const sizes: Partial<Record<keyof Sizes, number>> = {};
  for (const name of SIZES) sizes[name] = model[name];

  const bools: Record<string, Uint8Array> = readBools(model);
  const arrays: Record<string, ModelArrays[keyof ModelArrays]> = {};
  for (const { name } of fieldsOf("model")) {
    const values = bools[name] ?? copyArray(model, name);
    const size = fieldSize(sizes as Sizes, name);
    if (values.length !== size) {
      throw new CorralError("mujoco-layout", `${name} has ${values.length} numbers, the field table says ${size}.`, {
        name,
        length: values.length,
        size,
      });
    }
    arrays[name] = values;
  }

  const hulls = readHulls(model);
  const surfaces = readSurfaces(model);
  const taxels = readTaxels(model);
  return {
    ...(sizes as Sizes),
    ...(arrays as unknown as ModelArrays),
    // the buffer of names starts with the model's own
    name: textAt(copyArray(model, "names") as Uint8Array, 0),
    opt: readOption(model),
    stat: readStatistic(model),
    names: readNames(model),
    source,
    warnings,
    ...(model.nconmax > 0 ? { nconmax: model.nconmax } : {}),
    ...(hulls ? { hulls } : {}),
    ...(surfaces ? { surfaces } : {}),
    ...(taxels ? { taxels } : {}),
    ...(leftOut ? { leftOut } : {}),
  };
}

/** Compiles and reads a model in this thread; once more in a fresh module if there was no memory left in one that has been used. */
export async function compileHere(
  compile: (mujoco: MainModule) => Compiled & { readonly source: ModelSource },
): Promise<Model> {
  const once = async (): Promise<Model> => {
    const mujoco = await getMuJoCo();
    const isUsed = hasCompiled(mujoco);
    try {
      const compiled = compile(mujoco);
      try {
        const model = readModel(compiled.model, compiled.source, compiled.messages, compiled.leftOut);
        const atRest = restContacts(mujoco, compiled.model, model);
        const lost = restRounding(mujoco, compiled.model, model);
        return withPairsOf(model, {
          ...model,
          ...(atRest === undefined ? {} : { restContacts: atRest }),
          ...(lost === undefined ? {} : { restRounding: lost }),
        });
      } finally {
        compiled.model.delete();
      }
    } catch (error) {
      if (isUsed && error instanceof CorralError && error.code === "mujoco-memory") return once();
      throw error;
    }
  };
  return once();
}

/** A model of a source, compiled in this thread; `name` is what messages call it. */
export const compileSourceHere = (source: ModelSource, name?: string): Promise<Model> =>
  compileHere((mujoco) => ({ ...compileSource(mujoco, source, { name }), source }));
