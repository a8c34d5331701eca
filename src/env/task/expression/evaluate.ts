// an expression as values of the kernel that is being traced
import { CorralError } from "../../../core/errors.ts";
import { leftOutText } from "../../../model/model.ts";
import type { Scalar } from "../../../trace/scalar.ts";
import type { Scene } from "../task.ts";
import { alternatives } from "../../../core/names.ts";
import { errorAt, type SourceText } from "./error.ts";
import { countOf, elementsOf, FIELD_NAMES, fieldOf, idsOf, isKind, KINDS, type Kind } from "./fields.ts";
import { chosen, FUNCTIONS, negated, OPERATORS, Unfit } from "./functions.ts";
import { parseExpression, type Syntax } from "./parse.ts";
import { bool, describeValue, float, vector, type Value } from "./value.ts";

/** An entry by a name that a user wrote: not what every object has, as "constructor". */
const own = <T>(entries: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(entries, name) ? entries[name] : undefined;

/** Names that stand for themselves. */
const NAMES: Readonly<Record<string, (s: Scene) => Value>> = {
  action: (s) => vector(s.action),
  dt: (s) => float(s.dt),
  timestep: (s) => float(s.m.timestep),
  gravity: (s) => vector(s.m.gravity),
  episode: (s) => float(s.episode),
  episode_length: (s) => float(s.length),
  world: (s) => float(s.world),
  pi: () => float(Math.PI),
  true: () => bool(true),
  false: () => bool(false),
};

/** Names that others are looked up in. */
const SCOPES = ["option", "param", "carried", "before", ...KINDS];
const SWIZZLES = ["xyzw", "rgba"];

/** Why a task may not call a value so; undefined if it may. */
export function unfitName(name: string): string | undefined {
  if (!/^[A-Za-z_]\w*$/.test(name)) return "its name is none that an expression can read; use letters, digits and _";
  const taken =
    Object.hasOwn(NAMES, name) || SCOPES.includes(name) || FUNCTIONS.has(name) || fieldOf(name) !== undefined;
  return taken ? `${name} means something in expressions already; give it another name` : undefined;
}

/** What has members by names that a task gives: of all else x, y, z and w are elements. */
const NAMED: ReadonlySet<string> = new Set(["option", "param", "carried", "before"]);

class Evaluator {
  readonly #source: SourceText;
  readonly #scene: Scene;

  constructor(source: SourceText, scene: Scene) {
    this.#source = source;
    this.#scene = scene;
  }

  #fail(at: Syntax, code: string, message: string, details?: Record<string, unknown>): never {
    throw errorAt(this.#source, at.offset, code, message, details);
  }

  #unknown(at: Syntax, what: string, name: string, known: readonly string[]): never {
    const { hint, nearest } = alternatives(name, known);
    return this.#fail(at, "unknown-name", `${what} "${name}"; ${hint}.`, { name, nearest });
  }

  /** Adds the place to what a function or the tracer refuses. */
  #at<T>(part: Syntax, what: string, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof Unfit) return this.#fail(part, "term-shape", `${what} ${error.message}.`);
      // what a part of the part refused has its place already
      const traced =
        error instanceof CorralError && error.code.startsWith("trace-") && error.details.line === undefined;
      if (traced) return this.#fail(part, error.code, error.message.replace(/^\[[^\]]*\] /, ""));
      throw error;
    }
  }

  value(part: Syntax): Value {
    switch (part.kind) {
      case "number":
        return float(part.value);
      case "string":
        return this.#fail(
          part,
          "term-shape",
          `"${part.text}" is a name, not a value; use it as in joint["${part.text}"].`,
        );
      case "vector":
        return this.#at(part, "a list", () => FUNCTIONS.get("vec")!.apply(part.items.map((x) => this.value(x))));
      case "unary":
        return this.#at(part, part.op, () => negated(part.op, this.value(part.operand)));
      case "binary":
        return this.#binary(part);
      case "choice":
        return this.#choice(part);
      case "name":
        return this.#name(part);
      case "call":
        return this.#call(part);
      case "member":
        return this.#member(part);
      case "index":
      case "slice":
        return this.#elements(part);
    }
  }

  // sums lean to the left and choices to the right, however long: neither is a matter of the stack
  #binary(whole: Syntax & { kind: "binary" }): Value {
    const parts: (Syntax & { kind: "binary" })[] = [whole];
    for (let { left } = whole; left.kind === "binary"; left = left.left) parts.push(left);
    let value = this.value(parts[parts.length - 1].left);
    for (const part of parts.toReversed()) {
      const args = [value, this.value(part.right)];
      value = this.#at(part, part.op, () => OPERATORS[part.op](args));
    }
    return value;
  }

  #choice(whole: Syntax & { kind: "choice" }): Value {
    const parts: (Syntax & { kind: "choice" })[] = [whole];
    for (let { no } = whole; no.kind === "choice"; no = no.no) parts.push(no);
    const sides = parts.map(({ cond, yes }) => [this.value(cond), this.value(yes)]);
    let value = this.value(parts[parts.length - 1].no);
    parts.toReversed().forEach((part, i) => {
      const [cond, yes] = sides[sides.length - 1 - i];
      const no = value;
      value = this.#at(part, "a choice", () => chosen(cond, yes, no));
    });
    return value;
  }

  #name(part: Syntax & { kind: "name" }): Value {
    const { name } = part;
    const { values } = this.#scene;
    const found = values.read(name, this.#scene) ?? own(NAMES, name)?.(this.#scene) ?? this.#whole(name);
    if (found) return found;
    if (FUNCTIONS.has(name))
      return this.#fail(part, "term-shape", `${name} is a function: ${FUNCTIONS.get(name)!.usage}.`);
    if (SCOPES.includes(name))
      return this.#fail(part, "term-shape", `${name} alone is no value; write ${example(name)}.`);
    return this.#unknown(part, "nothing is named", name, [
      ...values.names,
      ...Object.keys(NAMES),
      ...SCOPES,
      ...FIELD_NAMES,
    ]);
  }

  /** All of a field; a field of one number is a number. */
  #whole(name: string): Value | undefined {
    const field = fieldOf(name);
    if (!field) return undefined;
    if (field.from === "model") {
      const { length } = this.#scene.model[field.name as "qpos0"];
      return vector(Array.from({ length }, (_, i) => this.#scene.m[field.name as "qpos0"].at(i)));
    }
    const items = this.#scene.d[field.name].all();
    return items.length === 1 && field.kind === undefined ? float(items[0]) : vector(items);
  }

  #call(part: Syntax & { kind: "call" }): Value {
    const { callee, args } = part;
    if (callee.kind === "member" && callee.of.kind === "name" && callee.of.name === "before") {
      return this.#before(part, { ...part, callee: { kind: "name", name: callee.name, offset: callee.offset } });
    }
    if (
      callee.kind === "member" &&
      callee.of.kind === "name" &&
      callee.of.name === "Math" &&
      FUNCTIONS.has(callee.name)
    )
      return this.#fail(callee, "term-shape", `write ${callee.name} without Math.`);
    if (callee.kind !== "name") return this.#fail(callee, "term-shape", "this is no function.");
    const { name } = callee;
    if (fieldOf(name)) return this.#rows(callee, args);
    const f = FUNCTIONS.get(name);
    if (!f) return this.#unknown(callee, "no function or field is named", name, [...FUNCTIONS.keys(), ...FIELD_NAMES]);
    const values = args.map((x) => this.value(x));
    return this.#at(part, `${f.usage}:`, () => f.apply(values));
  }

  /** The rows of named objects in a field, one after the other. */
  #rows(callee: Syntax & { kind: "name" }, args: readonly Syntax[]): Value {
    const field = fieldOf(callee.name)!;
    const { model } = this.#scene;
    const { kind } = field;
    if (kind === undefined || args.length === 0)
      return this.#fail(callee, "term-shape", `${callee.name} is read whole, without parentheses.`);
    const places = args.flatMap((arg) => {
      const ids = this.#objects(arg, kind, callee.name);
      const elements = ids.flatMap((id) => elementsOf(model, field, id));
      if (elements.length === 0) this.#fail(arg, "term-shape", `${callee.name} has no numbers of this ${kind}.`);
      return elements;
    });
    const read = (i: number): Scalar =>
      field.from === "model" ? this.#scene.m[field.name as "qpos0"].at(i) : this.#scene.d[field.name].at(i);
    const items = places.map(read);
    return items.length === 1 ? float(items[0]) : vector(items);
  }

  /** What an argument of a field names: joint.hip, joint["left hip"], joint["hip_*"], hip, or an id. */
  #objects(arg: Syntax, kind: Kind, field: string): number[] {
    const { model } = this.#scene;
    if (arg.kind === "number") return [this.#id(arg, kind, arg.value)];
    if (arg.kind === "string") return this.#named(arg, kind, arg.text);
    if (arg.kind === "name") return this.#named(arg, kind, arg.name);
    const scope = arg.kind === "member" || arg.kind === "index" ? arg.of : undefined;
    if (scope?.kind === "name" && scope.name === "option" && arg.kind === "member") {
      const value = this.#options()[arg.name];
      if (typeof value === "string") return this.#named(arg, kind, value);
      if (typeof value === "number") return [this.#id(arg, kind, value)];
    }
    if (scope?.kind !== "name" || !isKind(scope.name))
      return this.#fail(
        arg,
        "term-shape",
        `${field} takes the name of a ${kind}, as in ${field}(${kind}.${sample(model, kind)}).`,
      );
    if (scope.name !== kind)
      return this.#fail(
        scope,
        "term-shape",
        `${field} is of each ${kind}, not of a ${scope.name}; write ${kind}.NAME.`,
      );
    if (arg.kind === "member") return this.#named(arg, kind, arg.name);
    const { index } = arg as Syntax & { kind: "index" };
    if (index.kind === "string") return this.#named(index, kind, index.text);
    if (index.kind === "number") return [this.#id(index, kind, index.value)];
    return this.#fail(index, "term-shape", `${kind}[...] takes a name in quotes or an id.`);
  }

  #id(at: Syntax, kind: Kind, id: number): number {
    const count = countOf(this.#scene.model, kind);
    if (Number.isInteger(id) && id >= 0 && id < count) return id;
    return this.#fail(at, "unknown-name", `${kind} ${id} is not one of the model's ${count}: 0 to ${count - 1}.`);
  }

  #named(at: Syntax, kind: Kind, name: string): number[] {
    const { model } = this.#scene;
    const ids = idsOf(model, kind, name);
    if (ids.length > 0) return ids;
    const leftOut = leftOutText(model, kind, name);
    if (leftOut !== undefined) return this.#fail(at, "left-out", leftOut, { name });
    const known = model.names[kind].filter((n) => n !== "");
    return this.#unknown(at, `the model has no ${kind} named`, name, known);
  }

  #options(): Readonly<Record<string, unknown>> {
    return this.#scene.options as Readonly<Record<string, unknown>>;
  }

  #member(part: Syntax & { kind: "member" }): Value {
    const { of, name } = part;
    if (of.kind === "name") {
      if (of.name === "option") return this.#option(part);
      if (of.name === "param") return this.#lookup(part, "the task has no parameter named", this.#scene.params);
      if (of.name === "carried") return this.#lookup(part, "the task carries nothing named", this.#scene.carried);
      if (of.name === "before") return this.#before(part, { kind: "name", name, offset: part.offset });
      if (isKind(of.name))
        return this.#fail(
          part,
          "term-shape",
          `${of.name}.${name} is an object; write a field of it, as in ${example(of.name)}.`,
        );
    }
    return this.#swizzle(part, this.value(of));
  }

  #lookup(part: Syntax & { kind: "member" }, what: string, values: Readonly<Record<string, readonly Scalar[]>>): Value {
    const items = own(values, part.name);
    if (!items) return this.#unknown(part, what, part.name, Object.keys(values));
    return items.length === 1 ? float(items[0]) : vector(items);
  }

  #option(part: Syntax & { kind: "member" }): Value {
    const options = this.#options();
    if (!Object.hasOwn(options, part.name))
      return this.#unknown(part, "the task has no option named", part.name, Object.keys(options));
    const value = options[part.name];
    if (typeof value === "number") return float(value);
    if (typeof value === "boolean") return bool(value);
    // the ends of a range may be infinite: `inside` takes them
    if (Array.isArray(value)) return { kind: "float", items: value as number[], single: false };
    return this.#fail(part, "term-shape", `option.${part.name} is the word "${String(value)}", not a number.`);
  }

  #swizzle(part: Syntax & { kind: "member" }, value: Value): Value {
    const named = part.name.split("");
    const letters = SWIZZLES.find((set) => named.every((c) => set.includes(c)));
    if (!letters) return this.#fail(part, "term-syntax", `.${part.name} is no swizzle; use letters of xyzw.`);
    const places = named.map((c) => letters.indexOf(c));
    const beyond = places.find((i) => i >= value.items.length);
    if (value.single || beyond !== undefined)
      return this.#fail(part, "term-shape", `.${part.name} of ${describeValue(value)}.`);
    return this.#pick(value, places);
  }

  #pick(value: Value, places: readonly number[]): Value {
    const items = places.map((i) => value.items[i]);
    return { kind: value.kind, items, single: items.length === 1 } as Value;
  }

  #elements(part: Syntax & { kind: "index" | "slice" }): Value {
    if (part.kind === "index" && part.index.kind === "string" && part.of.kind === "name" && NAMED.has(part.of.name))
      return this.#member({ kind: "member", of: part.of, name: part.index.text, offset: part.offset });
    if (part.of.kind === "name" && isKind(part.of.name))
      return this.#fail(
        part,
        "term-shape",
        `${part.of.name}[...] is an object; write a field of it, as in ${example(part.of.name)}.`,
      );
    const value = this.value(part.of);
    const { length } = value.items;
    if (value.single) return this.#fail(part, "term-shape", `${describeValue(value)} has no elements.`);
    if (part.kind === "index") {
      const i = this.#wholeNumber(part.index, 0);
      if (i < 0 || i >= length)
        return this.#fail(part.index, "term-shape", `element ${i} of ${length}; they are 0 to ${length - 1}.`);
      return this.#pick(value, [i]);
    }
    const from = this.#wholeNumber(part.from, 0);
    const to = this.#wholeNumber(part.to, length);
    if (from < 0 || to > length || from >= to)
      return this.#fail(
        part,
        "term-shape",
        `elements ${from} to ${to} of ${length}; a slice [from:to] has 0 <= from < to <= ${length}.`,
      );
    const items = value.items.slice(from, to);
    return { kind: value.kind, items, single: false } as Value;
  }

  #wholeNumber(part: Syntax | undefined, fallback: number): number {
    if (!part) return fallback;
    const [x] = this.value(part).items;
    if (typeof x === "number" && Number.isInteger(x)) return x;
    return this.#fail(part, "term-shape", "an index is a whole number that is known when the task is built.");
  }

  /** The value of a part in the control step before; at the start of an episode that of the start. */
  #before(place: Syntax, part: Syntax): Value {
    // evaluated here for its shape and for what it refuses
    const now = this.value(part);
    if (now.kind !== "float") return this.#fail(place, "term-shape", "before takes numbers only.");
    const source = this.#source;
    const key = `before ${textOf(part)}`;
    const items = this.#scene.previous(key, (s) => new Evaluator(source, s).value(part).items as readonly Scalar[]);
    return { ...now, items };
  }
}

/** What a part says, wherever it stands. */
function textOf(part: Syntax): string {
  const words: string[] = [];
  const open: unknown[] = [part];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) words.push(String(next));
    else {
      const entries = Object.entries(next).filter(([name]) => name !== "offset");
      open.push(")", ...entries.flat().toReversed(), "(");
    }
  }
  return words.join(" ");
}

const sample = (model: Scene["model"], kind: Kind): string => model.names[kind].find((n) => /^\w+$/.test(n)) ?? "NAME";

function example(scope: string): string {
  const of: Readonly<Record<string, string>> = {
    option: "option.NAME",
    param: "param.NAME",
    carried: "carried.NAME",
    before: "before.qpos(joint.NAME)",
    body: "xpos(body.NAME)",
    joint: "qpos(joint.NAME)",
    geom: "geom_xpos(geom.NAME)",
    site: "site_xpos(site.NAME)",
    tendon: "ten_length(tendon.NAME)",
    actuator: "ctrl(actuator.NAME)",
    sensor: "sensor(NAME)",
  };
  return of[scope];
}

/**
 * The value of an expression in a scene.
 * @throws CorralError term-syntax, unknown-name (with the nearest names), term-shape: with the term, line and column
 */
export const evaluate = (source: SourceText, scene: Scene): Value =>
  new Evaluator(source, scene).value(parseExpression(source));
