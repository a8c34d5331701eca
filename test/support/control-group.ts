// control groups with a memory limit, where this process may make any: version 1, or 2 if memory is delegated
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface ControlGroup {
  /** A process joins by writing its id into `cgroup.procs` in here. */
  readonly folder: string;
  /** Only once all its processes have ended. */
  remove(): void;
}

/** A group inside of this process's own with a limit in bytes; undefined, and said so, if none can be made. */
export function makeControlGroup(bytes: number): ControlGroup | undefined {
  const own = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const pathOf = (line: RegExp) => own.map((text) => line.exec(text)?.[1]).find((path) => path !== undefined);
  const candidates = [
    ["/sys/fs/cgroup/memory", pathOf(/^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/), "memory.limit_in_bytes"],
    ["/sys/fs/cgroup", pathOf(/^0::(.*)$/), "memory.max"],
  ] as const;

  for (const [mount, path, limit] of candidates) {
    if (path === undefined) continue;
    const folder = join(mount, path, `corral-test-${process.pid}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    const remove = () => rmdirSync(folder);
    try {
      writeFileSync(join(folder, limit), String(bytes), { flag: "r+" });
      return { folder, remove };
    } catch {
      remove();
    }
  }

  console.log("skipped: no control group with a memory limit can be made here");
  return undefined;
}
