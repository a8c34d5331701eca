// one process at a time in the folder of a run: a file that names its holder; what a killed one left is taken over
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { removePartial } from "../io/write-whole.ts";

export const LOCK_FILE = "run.lock";

/** The process that holds a folder. Pids are reused, so its start time is kept with it. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Clock ticks since which boot; empty if the system does not say. */
  readonly started: string;
}

/** When a process started; undefined if there is none or the system does not say. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // one of another user is there too
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return undefined;
  }
  try {
    // the name in brackets may hold spaces; the start is field 22 of proc(5)
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // dead, but not yet waited for
    return fields[0] === "Z" ? undefined : `${fields[19]} ${boot}`;
  } catch {
    return "";
  }
}

function isAlive({ pid, host, started }: Holder): boolean {
  if (host !== hostname()) return true;
  const now = startOf(pid);
  return now !== undefined && (now === started || now === "" || started === "");
}

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};

/** Undefined for what a writer that was cut off has left. */
function holderOf(text: string): Holder | undefined {
  try {
    const { pid, host, started } = JSON.parse(text) as Partial<Holder>;
    return typeof pid === "number" && typeof host === "string" && typeof started === "string"
      ? { pid, host, started }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A folder that is held. `tookOver`: from a process that is gone. */
export interface RunLock extends Disposable {
  readonly tookOver: boolean;
}

/**
 * Holds a folder until it is disposed of.
 * @throws CorralError run-locked, which names the holder; what the file system throws
 */
export function lockRun(folder: string): RunLock {
  const path = join(folder, LOCK_FILE);
  const own = `${path}.${process.pid}`;
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), started: startOf(process.pid) ?? "" });
  let tookOver = false;
  // written under another name first, so that readers never see half of it
  writeFileSync(own, mine);
  try {
    while (!linked(own, path)) {
      const found = textOf(path);
      if (found === undefined) continue;
      const holder = holderOf(found);
      if (holder && isAlive(holder)) throw locked(folder, holder);
      tookOver = setAside(path, found) || tookOver;
    }
  } finally {
    rmSync(own, { force: true });
  }
  // half a page or config of who was killed; others may write here while they live
  if (tookOver) removePartial(folder);
  return {
    tookOver,
    [Symbol.dispose]: () => {
      if (textOf(path) === mine) rmSync(path, { force: true });
    },
  };
}

/** File systems that know no second names. */
const UNLINKABLE = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Links a file to a name that is not taken; copies it where the file system has no hard links. */
function linked(from: string, to: string): boolean {
  try {
    try {
      linkSync(from, to);
    } catch (error) {
      if (!UNLINKABLE.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
      writeFileSync(to, readFileSync(from), { flag: "wx" });
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Moves a lock away, unless another process has taken it over meanwhile: that one gets it back. */
function setAside(path: string, text: string): boolean {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  const isStale = readFileSync(aside, "utf8") === text;
  if (!isStale) linked(aside, path);
  rmSync(aside, { force: true });
  return isStale;
}

const locked = (folder: string, { pid, host }: Holder): CorralError =>
  new CorralError(
    "run-locked",
    host === hostname()
      ? `${folder} is held by process ${pid}, which trains there. Wait for it or end it, or pass another --out.`
      : `${folder} is held by process ${pid} on ${host}. Wait for it; where it is gone, remove ${join(folder, LOCK_FILE)}.`,
    { folder, pid, host },
  );
