// whether a process can be given bounds here
import { execFileSync } from "node:child_process";

/** Says so where it cannot. */
export function hasPrlimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"]);
    return true;
  } catch {
    console.log("skipped: bounding a process needs prlimit (util-linux)");
    return false;
  }
}
