// types of WGSL values, and how they lie in memory
import { refuse, type Expression, type ModuleTree, type TypeName } from "./parse.ts";

export type Scalar = "f32" | "u32" | "i32" | "bool";
/** Literals have a type once they meet one that has. */
export type Abstract = "int" | "float";

export type Type =
  | { readonly kind: "scalar"; readonly of: Scalar | Abstract }
  | { readonly kind: "vector"; readonly of: Scalar | Abstract; readonly size: number }
  | { readonly kind: "array"; readonly of: Type; readonly count: number | undefined }
  | { readonly kind: "struct"; readonly name: string; readonly members: readonly Member[] };

export interface Member {
  readonly name: string;
  readonly type: Type;
  readonly offset: number;
}

/** What lies on the stack as one. */
export type Simple = Extract<Type, { kind: "scalar" | "vector" }>;

export const scalarOf = (type: Type): Simple => ({ kind: "scalar", of: (type as Simple).of });
export const isFloat = ({ of }: Simple): boolean => of === "f32" || of === "float";

export const F32: Type = { kind: "scalar", of: "f32" };
export const U32: Type = { kind: "scalar", of: "u32" };
export const BOOL: Type = { kind: "scalar", of: "bool" };
export const vector = (of: Scalar | Abstract, size: number): Type => ({ kind: "vector", of, size });

const align = (at: number, unit: number): number => Math.ceil(at / unit) * unit;

export function alignOf(type: Type): number {
  if (type.kind === "scalar") return 4;
  if (type.kind === "vector") return type.size === 2 ? 8 : 16;
  if (type.kind === "array") return alignOf(type.of);
  return type.members.reduce((most, { type: member }) => Math.max(most, alignOf(member)), 4);
}

export function sizeOf(type: Type): number {
  if (type.kind === "scalar") return 4;
  if (type.kind === "vector") return 4 * type.size;
  if (type.kind === "array") return strideOf(type) * (type.count ?? 1);
  const last = type.members.at(-1);
  return last ? align(last.offset + sizeOf(last.type), alignOf(type)) : 0;
}

/** Bytes from one element of an array to the next. */
export const strideOf = ({ of }: Extract<Type, { kind: "array" }>): number => align(sizeOf(of), alignOf(of));

/** Types of a module by how they are written. */
export class Types {
  readonly #tree: ModuleTree;
  readonly #structs = new Map<string, Type>();
  readonly #count: (e: Expression) => number;

  constructor(tree: ModuleTree, count: (e: Expression) => number) {
    this.#tree = tree;
    this.#count = count;
  }

  of({ name, args }: TypeName): Type {
    if (name === "f32" || name === "u32" || name === "i32" || name === "bool") return { kind: "scalar", of: name };
    if (/^vec[234]$/.test(name)) {
      const element = this.of(args[0] as TypeName);
      if (element.kind === "scalar") return vector(element.of, Number(name[3]));
    }
    if (name === "array") {
      const count = args.length > 1 ? this.#count(args[1] as Expression) : undefined;
      return { kind: "array", of: this.of(args[0] as TypeName), count };
    }
    return this.struct(name) ?? fail(name);
  }

  struct(name: string): Type | undefined {
    const known = this.#structs.get(name);
    const members = this.#tree.structs.get(name);
    if (known || !members) return known;
    let end = 0;
    const made: Type = {
      kind: "struct",
      name,
      members: members.map((member) => {
        const type = this.of(member.type);
        const offset = align(end, alignOf(type));
        end = offset + sizeOf(type);
        return { name: member.name, type, offset };
      }),
    };
    this.#structs.set(name, made);
    return made;
  }
}

const fail = (name: string): never => {
  throw refuse(`the type ${name}`);
};

/** Whether values of a type are several: structs and arrays. */
export const isComposite = (type: Type): type is Extract<Type, { kind: "array" | "struct" }> =>
  type.kind === "array" || type.kind === "struct";

/** Types of the parts of a value, one behind the other: scalars and vectors. */
export function partsOf(type: Type): Type[] {
  if (type.kind === "array") return Array.from({ length: type.count ?? 0 }, () => partsOf(type.of)).flat();
  return type.kind === "struct" ? type.members.flatMap((member) => partsOf(member.type)) : [type];
}

const isAbstract = (of: Scalar | Abstract): of is Abstract => of === "int" || of === "float";

/** The type that operands have in common. */
export function common(a: Type, b: Type): Type {
  if (isComposite(a) || isComposite(b)) return a;
  const of = isAbstract(a.of) ? (isAbstract(b.of) ? (a.of === "float" ? a.of : b.of) : b.of) : a.of;
  const size = a.kind === "vector" ? a.size : b.kind === "vector" ? b.size : 1;
  return size === 1 ? { kind: "scalar", of } : vector(of, size);
}

/** A literal's type where nothing else says one. */
export function concrete(type: Type): Type {
  if (isComposite(type) || !isAbstract(type.of)) return type;
  const of = type.of === "int" ? "i32" : "f32";
  return type.kind === "vector" ? vector(of, type.size) : { kind: "scalar", of };
}
