// compiles kernels by the tier of this V8 that runs them fastest
import { setFlagsFromString } from "node:v8";
import { isTooLong } from "./too-large.ts";

/** Flags while a module is compiled, each with what it is elsewhere. */
type Flags = Readonly<Record<string, string>>;

/** At once, rather than at the first call, when the flags are others again. */
const EAGER: Flags = { "--no-wasm-lazy-compilation": "--wasm-lazy-compilation" };
/** The baseline tier for good. */
const BASELINE: Flags = {
  ...EAGER,
  "--no-wasm-dynamic-tiering": "--wasm-dynamic-tiering",
  "--no-wasm-tier-up": "--wasm-tier-up",
};
/** The optimising tier that V8 13 has by default, at once. */
const TURBOSHAFT: Flags = {
  ...EAGER,
  "--turboshaft-wasm": "--no-turboshaft-wasm",
  "--no-liftoff": "--liftoff",
};

/** Bytes beyond which the optimising tier of V8 11 makes kernels slower than its baseline tier does; measured. */
const LARGE = 100_000;

/** Flags for a module of a size in a version of V8: "11.3" is Node 20's, "12.4" Node 22's, "13.6" Node 24's. */
export function flagsFor(v8: string, bytes: number): Flags {
  const [major, minor] = v8.split(".").map(Number);
  if (major < 12 || (major === 12 && minor < 4)) return bytes > LARGE ? BASELINE : {};
  return major === 12 ? TURBOSHAFT : {};
}

// what V8 could not compile under its flags once is compiled without them from then on
let isPlain = false;

/** Compiles a module. Flags are this process's own only while it does. */
export function compileModule(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  const flags = isPlain ? {} : flagsFor(process.versions.v8, bytes.length);
  try {
    for (const flag of Object.keys(flags)) setFlagsFromString(flag);
    return new WebAssembly.Module(bytes);
  } catch (error) {
    if (isPlain || Object.keys(flags).length === 0 || isTooLong(error)) throw error;
    isPlain = true;
  } finally {
    for (const flag of Object.values(flags)) setFlagsFromString(flag);
  }
  return compileModule(bytes);
}
