// keeps what Dawn prints while it lists drivers from the terminal: native code writes it to the file descriptor
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createRequire } from "node:module";

/** What the C library offers for descriptors. */
interface Descriptors {
  pipe(ends: Int32Array): number;
  dup(file: number): number;
  dup2(file: number, as: number): number;
  fcntl(file: number, command: number, kind: "int", value: number): number;
}

const STDERR = 2;
const F_SETFD = 2;
const FD_CLOEXEC = 1;

/**
 * Lines that `corral doctor` and the errors of `openDevice` tell in words: Dawn's warnings of drivers and limits, where
 * in Dawn they arose, and Mesa's disclaimer.
 */
const TOLD_ELSEWHERE =
  "^$|^Warning: |^ - While |^    at .*dawn/.*\\.cpp:[0-9]+\\)?$|is not a conformant .* implementation, testing use only";

let loaded: { libc: Descriptors | undefined } | undefined;

function descriptors(): Descriptors | undefined {
  loaded ??= { libc: load() };
  return loaded.libc;
}

function load(): Descriptors | undefined {
  // elsewhere nothing is known to be printed
  if (process.platform !== "linux" && process.platform !== "darwin") return undefined;
  try {
    type Library = { func: (prototype: string) => never };
    const koffi = createRequire(import.meta.url)("koffi") as { load: (path: null) => Library };
    const libc = koffi.load(null);
    return {
      pipe: libc.func("int pipe(_Out_ int *ends)"),
      dup: libc.func("int dup(int file)"),
      dup2: libc.func("int dup2(int file, int as)"),
      fcntl: libc.func("int fcntl(int file, int command, ...)"),
    };
  } catch {
    // an optional dependency: without it the warnings are seen
    return undefined;
  }
}

/**
 * Calls `call` while a filter stands before stderr's file descriptor. What is not known to be reported elsewhere passes,
 * after a crash too: the filter is a process of its own. `CORRAL_DEBUG=1` shows everything.
 */
export function withQuietStderr<T>(call: () => T): T {
  const libc = process.env.CORRAL_DEBUG === "1" ? undefined : descriptors();
  const input = libc && openFilter(libc);
  if (!libc || input === undefined) return call();

  const kept = libc.dup(STDERR);
  if (kept < 0) {
    closeSync(input);
    return call();
  }
  libc.fcntl(kept, F_SETFD, "int", FD_CLOEXEC);
  libc.dup2(input, STDERR);
  closeSync(input);
  try {
    return call();
  } finally {
    libc.dup2(kept, STDERR);
    closeSync(kept);
  }
}

/** The descriptor of a pipe whose lines come out of stderr unless they match; undefined if that cannot be had. */
function openFilter(libc: Descriptors): number | undefined {
  const ends = new Int32Array(2);
  if (libc.pipe(ends) !== 0) return undefined;
  const [output, input] = ends;

  // what the process starts must not hold the pipe open
  for (const end of ends) libc.fcntl(end, F_SETFD, "int", FD_CLOEXEC);
  const filter = spawn("grep", ["-a", "-v", "-E", TOLD_ELSEWHERE], { stdio: [output, STDERR, "ignore"] });
  filter.on("error", () => {});
  filter.unref();
  closeSync(output);
  if (filter.pid !== undefined) return input;
  closeSync(input);
  return undefined;
}
