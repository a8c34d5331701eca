// where values of WGSL lie: in locals, in memory, or as a lane of a vector
import type { Assembler, Kind } from "./assembler.ts";
import { refuse, type Expression, type FunctionTree, type ModuleTree } from "./parse.ts";
import {
  alignOf,
  BOOL,
  concrete,
  isComposite,
  isFloat,
  partsOf,
  scalarOf,
  sizeOf,
  strideOf,
  U32,
  type Simple,
  type Type,
} from "./types.ts";
import { Typing, type Held } from "./typing.ts";

/** Memory for variables of workgroups and arrays that are indexed: the local with its address, and its bytes. */
export interface Scratch {
  readonly address: number;
  readonly bytes: number;
}

/** Where a value lies: in locals, in memory at an address and an offset, or as a lane of a vector in a local. */
type Place =
  | ({ readonly kind: "locals" } & Held)
  | { readonly kind: "memory"; readonly type: Type; readonly offset: number; readonly push: () => void }
  | { readonly kind: "lane"; readonly type: Simple; readonly of: number; readonly lane: number };

export function kindOf(type: Type): Kind {
  if (isComposite(type)) throw refuse("a value of several parts where one is expected");
  return type.kind === "vector" ? "v128" : isFloat(type) ? "f32" : "i32";
}

export abstract class Values extends Typing {
  readonly asm: Assembler;
  readonly #addresses: ReadonlyMap<number, number>;
  readonly #scratch: Scratch;
  readonly #workgroup = new Map<string, number>();
  #used = 0;

  constructor(tree: ModuleTree, asm: Assembler, addresses: ReadonlyMap<number, number>, scratch: Scratch) {
    super(tree);
    this.asm = asm;
    this.#addresses = addresses;
    this.#scratch = scratch;
  }

  /** Pushes a scalar or a vector of a type on the stack. */
  protected abstract push(e: Expression, want: Type): void;
  /** A function in the place of its call. */
  protected abstract inline(fn: FunctionTree, given: readonly Held[]): Held | undefined;

  /** Bytes of the scratch memory that nothing else uses. */
  #take(type: Type): number {
    const unit = Math.max(16, alignOf(type));
    const at = Math.ceil(this.#used / unit) * unit;
    this.#used = at + sizeOf(type);
    if (this.#used > this.#scratch.bytes) throw refuse("more memory of a workgroup than there is");
    return at;
  }

  protected load(place: Place): void {
    const { asm } = this;
    if (place.kind === "locals") return void asm.get(place.parts[0]);
    if (place.kind === "lane") {
      asm.get(place.of);
      asm.simd(isFloat(place.type) ? "f32x4.extract_lane" : "i32x4.extract_lane", place.lane);
      if (place.type.of === "bool") asm.int(1).op("i32.and");
      return;
    }
    place.push();
    const kind = kindOf(place.type);
    if (kind !== "v128") return void asm.access(`${kind}.load`, place.offset);
    asm.access(sizeOf(place.type) === 8 ? "v128.load64_zero" : "v128.load", place.offset);
  }

  /** Resolves names, members and elements to where they lie; what is computed goes into locals. */
  place(e: Expression): Place {
    if (e.kind === "name") {
      const held = this.find(e.name);
      if (held) return { kind: "locals", ...held };
      return this.#global(e.name);
    }
    if (e.kind === "member") return this.#member(this.place(e.of), e.member);
    if (e.kind === "index") return this.#element(this.place(e.of), e.index);
    if (e.kind === "unary" && e.op === "&") return this.place(e.of);
    return { kind: "locals", ...this.hold(e) };
  }

  #global(name: string): Place {
    const variable = this.tree.variables.get(name);
    if (!variable) throw refuse(`the name ${name}`);
    const type = this.types.of(variable.type);
    if (variable.binding !== undefined) {
      const address = this.#addresses.get(variable.binding);
      if (address === undefined) throw refuse(`${name}, which is not bound`);
      return { kind: "memory", type, offset: 0, push: () => this.asm.get(address) };
    }
    let at = this.#workgroup.get(name);
    if (at === undefined) this.#workgroup.set(name, (at = this.#take(type)));
    return { kind: "memory", type, offset: at, push: () => this.asm.get(this.#scratch.address) };
  }

  #member(place: Place, name: string): Place {
    const { type } = place;
    if (type.kind === "vector") return this.#lane(place, "xyzw".indexOf(name));
    if (type.kind !== "struct") throw refuse(`the member ${name}`);
    const index = type.members.findIndex((member) => member.name === name);
    const member = type.members[index];
    if (place.kind === "memory") return { ...place, type: member.type, offset: place.offset + member.offset };
    if (place.kind !== "locals") throw refuse(`the member ${name} of a lane`);
    const before = type.members.slice(0, index).reduce((sum, m) => sum + partsOf(m.type).length, 0);
    return {
      kind: "locals",
      type: member.type,
      parts: place.parts.slice(before, before + partsOf(member.type).length),
    };
  }

  #lane(place: Place, lane: number): Place {
    const type = scalarOf(place.type);
    if (place.kind === "memory") return { ...place, type, offset: place.offset + 4 * lane };
    if (place.kind !== "locals") throw refuse("a lane of a lane");
    return { kind: "lane", type, of: place.parts[0], lane };
  }

  #element(place: Place, index: Expression): Place {
    const { type } = place;
    const known = this.constantOf(index);
    if (known !== undefined && type.kind === "vector") return this.#lane(place, known);
    if (place.kind === "locals") {
      if (known === undefined || type.kind !== "array") return this.#element(this.#spill(place), index);
      const each = partsOf(type.of).length;
      return { kind: "locals", type: type.of, parts: place.parts.slice(known * each, (known + 1) * each) };
    }
    if (place.kind !== "memory") throw refuse("an element of a lane");
    const of = type.kind === "array" ? type.of : scalarOf(type);
    const stride = type.kind === "array" ? strideOf(type) : 4;
    if (known !== undefined) return { ...place, type: of, offset: place.offset + known * stride };
    const push = () => {
      place.push();
      this.push(index, U32);
      this.asm.int(stride).op("i32.mul", "i32.add");
    };
    return { kind: "memory", type: of, offset: place.offset, push };
  }

  /** Writes a value from locals to memory, where its elements have addresses. */
  #spill(held: Held): Place {
    const at = this.#take(held.type);
    const place: Place = {
      kind: "memory",
      type: held.type,
      offset: at,
      push: () => this.asm.get(this.#scratch.address),
    };
    this.#storeParts(place, held.parts);
    return place;
  }

  #storeParts(place: Extract<Place, { kind: "memory" }>, parts: readonly number[]): void {
    let next = 0;
    const walk = (type: Type, offset: number): void => {
      if (type.kind === "struct") return type.members.forEach((member) => walk(member.type, offset + member.offset));
      if (type.kind === "array") {
        for (let i = 0; i < type.count!; i++) walk(type.of, offset + i * strideOf(type));
        return;
      }
      this.#store({ ...place, type, offset }, () => this.asm.get(parts[next++]));
    };
    walk(place.type, place.offset);
  }

  #store(place: Place, value: () => void): void {
    const { asm } = this;
    if (place.kind === "locals") {
      value();
      return void asm.set(place.parts[0]);
    }
    if (place.kind === "lane") {
      asm.get(place.of);
      value();
      return void asm.simd(isFloat(place.type) ? "f32x4.replace_lane" : "i32x4.replace_lane", place.lane).set(place.of);
    }
    place.push();
    value();
    const kind = kindOf(place.type);
    if (kind !== "v128") return void asm.access(`${kind}.store`, place.offset);
    if (sizeOf(place.type) === 8) asm.access("v128.store64_lane", place.offset, 0);
    else asm.access("v128.store", place.offset);
  }

  /** to = value. */
  assign(to: Expression, value: Expression): void {
    const place = this.place(to);
    if (!isComposite(place.type)) return this.#store(place, () => this.push(value, place.type));
    const held = this.fresh(place.type, value);
    if (place.kind === "memory") return this.#storeParts(place, held.parts);
    if (place.kind === "locals") held.parts.forEach((part, i) => this.asm.get(part).set(place.parts[i]));
  }

  /** A value in locals of its own; zeros where there is none. */
  fresh(type: Type, value: Expression | undefined): Held {
    const held = { type, parts: partsOf(type).map((part) => this.asm.local(kindOf(part))) };
    if (value) this.copyInto(held, value);
    else this.#zero(held);
    return held;
  }

  #zero({ type, parts }: Held): void {
    partsOf(type).forEach((part, i) => {
      const kind = kindOf(part);
      if (kind === "v128") this.asm.vector([0, 0, 0, 0]);
      else if (kind === "f32") this.asm.float(0);
      else this.asm.int(0);
      this.asm.set(parts[i]);
    });
  }

  copyInto({ type, parts }: Held, value: Expression): void {
    if (!isComposite(type)) {
      this.push(value, type);
      return void this.asm.set(parts[0]);
    }
    this.hold(value, type).parts.forEach((part, i) => this.asm.get(part).set(parts[i]));
  }

  /** A value in locals, which may be those of a variable. */
  hold(e: Expression, want: Type = concrete(this.typeOf(e))): Held {
    if (e.kind === "call") {
      const fn = this.tree.functions.get(e.type.name);
      if (fn) {
        const given = fn.parameters.map(({ type }, i) => this.fresh(this.types.of(type), e.args[i]));
        return this.inline(fn, given) ?? { type: BOOL, parts: [] };
      }
      if (isComposite(want)) return this.#construct(e.args, want);
    }
    if (!isComposite(want)) return this.fresh(want, e);
    const place = this.place(e);
    if (place.kind === "locals") return place;
    if (place.kind !== "memory") throw refuse("a struct in a lane");
    return { type: want, parts: this.#loadParts(place) };
  }

  #construct(args: readonly Expression[], want: Extract<Type, { kind: "array" | "struct" }>): Held {
    if (args.length === 0) return this.fresh(want, undefined);
    const parts = args.flatMap(
      (arg, i) => this.fresh(want.kind === "array" ? want.of : want.members[i].type, arg).parts,
    );
    return { type: want, parts };
  }

  #loadParts(place: Extract<Place, { kind: "memory" }>): number[] {
    const parts: number[] = [];
    const walk = (type: Type, offset: number): void => {
      if (type.kind === "struct") return type.members.forEach((member) => walk(member.type, offset + member.offset));
      if (type.kind === "array") {
        for (let i = 0; i < type.count!; i++) walk(type.of, offset + i * strideOf(type));
        return;
      }
      const local = this.asm.local(kindOf(type));
      this.load({ ...place, type, offset });
      this.asm.set(local);
      parts.push(local);
    };
    walk(place.type, place.offset);
    return parts;
  }
}
