// modules that vitest has loaded, as objects whose properties engines read at once: it makes dictionaries, with a look-up for each call of what is imported
import { types } from "node:util";
import { beforeAll } from "vitest";

type Exports = Record<PropertyKey, unknown>;

/** What vitest keeps in each process, as its version here has it: without it tests take longer, and that is all. */
interface Kept {
  readonly evaluatedModules?: { readonly idToModuleMap: ReadonlyMap<string, { readonly exports?: unknown }> };
}

/** Reads through an heir before V8 lays a prototype out as an object of known shape. */
const READS = 12;
const done = new WeakSet<object>();
const read = (heir: Exports): unknown => heir.nothing;

function layOut(exports: object): void {
  // what a test has put in the place of a module throws when it is asked for what it has not
  if (done.has(exports) || types.isProxy(exports)) return;
  done.add(exports);
  const heir = Object.create(exports) as Exports;
  for (let i = 0; i < READS; i++) read(heir);
}

beforeAll(() => {
  const { __vitest_mocker__: kept } = globalThis as { __vitest_mocker__?: Kept };
  for (const { exports } of kept?.evaluatedModules?.idToModuleMap.values() ?? [])
    if (typeof exports === "object" && exports !== null) layOut(exports);
});
