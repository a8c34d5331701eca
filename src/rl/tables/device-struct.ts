// one table for numbers that host and device both know: it gives the WGSL struct, and the host writes and reads by name

/** Words and alignment of the types that a row may have (WGSL, "Alignment and Size"). */
const TYPES = {
  u32: [1, 1],
  f32: [1, 1],
  "vec2<u32>": [2, 2],
  "vec4<u32>": [4, 4],
  "vec4<f32>": [4, 4],
  "array<vec4<u32>, 8>": [32, 4],
} as const;

type WordType = keyof typeof TYPES;
/** The type of a member, and what it means. */
export type Row = WordType | readonly [WordType, doc: string];
export type Rows = Readonly<Record<string, Row>>;

/** What an unlimited number is on the device: WGSL has no infinity that may be relied on. */
const LARGE = 3e38;

/** Values by the names of a table. */
export type ValuesOf<N extends string> = Readonly<Record<N, number | ArrayLike<number>>>;

const alignTo = (at: number, unit: number): number => Math.ceil(at / unit) * unit;

export class DeviceStruct<N extends string = string> {
  readonly name: string;
  /** Words, padding at the end included. */
  readonly size: number;
  readonly #rows: ReadonlyMap<string, { readonly at: number; readonly type: WordType; readonly doc: string }>;

  constructor(name: string, rows: Readonly<Record<N, Row>>) {
    this.name = name;
    let end = 0;
    let most = 1;
    const laid = Object.entries<Row>(rows).map(([member, row]) => {
      const [type, doc] = typeof row === "string" ? [row, ""] : row;
      const [words, unit] = TYPES[type];
      const at = alignTo(end, unit);
      end = at + words;
      most = Math.max(most, unit);
      return [member, { at, type, doc }] as const;
    });
    this.#rows = new Map(laid);
    this.size = alignTo(end, most);
  }

  /** The word at which a member begins. */
  at(member: N): number {
    return this.#rows.get(member)!.at;
  }

  get members(): readonly N[] {
    return [...this.#rows.keys()] as N[];
  }

  /** The struct in WGSL. */
  get wgsl(): string {
    const members = [...this.#rows].map(
      ([member, { type, doc }]) => `${doc && `  /// ${doc}\n`}  ${member}: ${type},\n`,
    );
    return `struct ${this.name} {\n${members.join("")}}\n`;
  }

  /** For structs of floats in multiples of four: to vec4s, which is how they lie in memory of vec4s, and back. */
  get wgslPacking(): string {
    const { name, members } = this;
    const snake = snakeCase(name);
    const vectors = Array.from({ length: this.size / 4 }, (_, i) => members.slice(4 * i, 4 * i + 4));
    const all = `array<vec4<f32>, ${vectors.length}>`;
    const packed = vectors.map((four) => `vec4<f32>(${four.map((member) => `s.${member}`).join(", ")})`);
    const unpacked = vectors.flatMap((four, i) => four.map((_, k) => `v[${i}].${"xyzw"[k]}`));
    return `
fn pack_${snake}(s: ${name}) -> ${all} {
  return ${all}(${packed.join(", ")});
}
fn unpack_${snake}(v: ${all}) -> ${name} {
  return ${name}(${unpacked.join(", ")});
}
`;
  }

  /** Constants with the word of each member, for code that sees plain words. */
  wgslPlaces(prefix: string): string {
    return constants(prefix, Object.fromEntries(this.members.map((member) => [member, this.at(member)])));
  }

  /** Writes members into words, from a word on; those that are not given stay. */
  write(values: Partial<ValuesOf<N>>, into: Uint32Array, start = 0): void {
    const floats = new Float32Array(into.buffer, into.byteOffset, into.length);
    for (const [member, value] of Object.entries(values) as [N, number | ArrayLike<number>][]) {
      const { at, type } = this.#rows.get(member)!;
      const isFloat = type.includes("f32");
      const list = typeof value === "number" ? [value] : Array.from(value);
      list.forEach((x, i) => {
        if (isFloat) floats[start + at + i] = Math.max(-LARGE, Math.min(LARGE, x));
        else into[start + at + i] = x;
      });
    }
  }

  /** The words of records, one behind the other. */
  words(...records: readonly ValuesOf<N>[]): Uint32Array<ArrayBuffer> {
    const words = new Uint32Array(records.length * this.size);
    records.forEach((record, i) => this.write(record, words, i * this.size));
    return words;
  }
}

/** A table of members. */
export const struct = <const R extends Rows>(name: string, rows: R): DeviceStruct<keyof R & string> =>
  new DeviceStruct(name, rows);

/** `S_REWARD_MEAN` of "S_" and `rewardMean` or `reward_mean`. */
const constantName = (prefix: string, name: string): string => prefix + snakeCase(name).toUpperCase();
const snakeCase = (name: string): string => name.replace(/(?<=[a-z0-9])[A-Z]/g, "_$&").toLowerCase();

/** Integers that both know, as WGSL constants. */
export const constants = (prefix: string, values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `const ${constantName(prefix, name)} = ${value}u;\n`)
    .join("");

/** Names to numbers, counted from `start`. */
export const numbered = <const N extends readonly string[]>(start: number, names: N) =>
  Object.fromEntries(names.map((name, i) => [name, start + i])) as Readonly<Record<N[number], number>>;
