// paths with "/", as Node's `path.posix` has them

export const isAbsolute = (path: string): boolean => path.startsWith("/");

export function dirname(path: string): string {
  const at = path.replace(/\/+$/, "").lastIndexOf("/");
  return at < 0 ? "." : path.slice(0, at) || "/";
}

/** The names that a path leads through: without "", "." and, where it can, "..". */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    const isUp = part === ".." && parts.length > 0 && parts.at(-1) !== "..";
    if (isUp) parts.pop();
    else if (part !== ".." || !isAbsolute(path)) parts.push(part);
  }
  return parts;
}

/** Both from the root. */
function relative(from: string, to: string): string {
  const [a, b] = [partsOf(from), partsOf(to)];
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
}

export const posix = {
  basename: (path: string): string => path.replace(/\/+$/, "").split("/").at(-1)!,
  normalize: (path: string): string => (isAbsolute(path) ? "/" : "") + partsOf(path).join("/") || ".",
  relative,
};
