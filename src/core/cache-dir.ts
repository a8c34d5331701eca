// where corral keeps what can be made again: `$XDG_CACHE_HOME/corral`, else `~/.cache/corral`, else a private temporary folder
import { accessSync, constants, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { CorralError } from "./errors.ts";
import { makeFolder } from "./make-folder.ts";

/** The cache folder, created. Throws `cache-not-writable` with every folder that was tried. */
export function cacheDir(): string {
  const tried: string[] = [];
  const attempt = (name: string, choose: () => string | undefined, verify?: (folder: string) => void) => {
    try {
      const folder = choose();
      if (folder === undefined) return undefined;
      makeFolder(folder, 0o700);
      accessSync(folder, constants.W_OK | constants.X_OK);
      verify?.(folder);
      return folder;
    } catch (error) {
      tried.push(`${name} (${(error as Error).message})`);
      return undefined;
    }
  };

  const folder =
    attempt("XDG_CACHE_HOME", fromEnvironment) ??
    attempt("home", () => join(homedir(), ".cache", "corral")) ??
    attempt("temporary folder", () => join(tmpdir(), `corral-${process.getuid?.() ?? "user"}`), assertOwn);
  if (folder !== undefined) return folder;
  throw new CorralError(
    "cache-not-writable",
    `no folder for cached files: ${tried.join("; ")}. Set XDG_CACHE_HOME to a folder you may write to.`,
    { tried },
  );
}

function fromEnvironment(): string | undefined {
  const given = process.env.XDG_CACHE_HOME;
  return given && isAbsolute(given) ? join(given, "corral") : undefined;
}

// libraries are loaded from here, and anyone may make a folder among the temporary ones
function assertOwn(folder: string): void {
  const { uid, mode } = statSync(folder);
  const mine = process.getuid?.() ?? uid;
  if (uid !== mine) throw new Error(`${folder} is owned by user ${uid}, not ${mine}`);
  if (mode & 0o022) throw new Error(`${folder} is writable by others`);
}
