// named numbers of worlds through the mapped file, behind each other, as float64
import type { ArrayRow, MappedFile } from "./mapped-file.ts";
import type { Arguments, Calls } from "./served.ts";

/** A number or an array that each world has. */
export interface StateField {
  readonly name: string;
  readonly shape: readonly number[];
  readonly size: number;
}

/** What an environment and a simulation have in common here. */
interface Holder {
  readonly numEnvs: number;
  getState(names: readonly never[], worlds?: readonly number[]): Promise<Readonly<Record<string, Float64Array>>>;
  setState(values: Readonly<Record<string, Float64Array>>, worlds?: readonly number[]): Promise<void>;
}

const VALUES = "values";

export class StateExchange {
  /** The array that fields go through: room for all of them, of all worlds. */
  readonly array: Omit<ArrayRow, "offset">;
  readonly calls: Calls;

  constructor(holder: Holder, fields: readonly StateField[], file: () => MappedFile) {
    const room = fields.reduce((sum, { size }) => sum + size, 0);
    this.array = { name: VALUES, dtype: "float64", shape: [holder.numEnvs * room] };
    this.calls = {
      setState: (given) => set(holder, file(), given),
      getState: (given) => get(holder, file(), given),
    };
  }
}

/** `fields`: names with the count of their values. */
async function set(holder: Holder, file: MappedFile, { fields, worlds }: Arguments): Promise<void> {
  const given = fields as readonly (readonly [string, number])[];
  const all = new Float64Array(given.reduce((sum, [, length]) => sum + length, 0));
  file.read(VALUES, all);
  let at = 0;
  const values: Record<string, Float64Array> = {};
  for (const [name, length] of given) values[name] = all.subarray(at, (at += length));
  await holder.setState(values, worlds as number[] | undefined);
}

async function get(holder: Holder, file: MappedFile, { names, worlds }: Arguments): Promise<object> {
  const wanted = names as readonly string[];
  const values = await holder.getState(wanted as readonly never[], worlds as number[] | undefined);
  const all = new Float64Array(wanted.reduce((sum, name) => sum + values[name].length, 0));
  let at = 0;
  for (const name of wanted) {
    all.set(values[name], at);
    at += values[name].length;
  }
  file.write(VALUES, all);
  return { lengths: wanted.map((name) => values[name].length) };
}
