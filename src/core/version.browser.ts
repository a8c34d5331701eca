// versions of what runs, as they were when the bundle was built
import { PACKAGES, VERSION } from "corral:built";

export const corralVersion = (): string => VERSION;

export const packageVersion = (name: string): string => PACKAGES[name] ?? "unknown";

/** A browser by its name and version. */
export function runtime(): { readonly node: string; readonly platform: string } {
  const [found = ""] = /(Firefox|Edg|Chrome|Safari)\/[\d.]{1,32}/.exec(navigator.userAgent) ?? [];
  return { node: "none", platform: `browser ${found.replace("/", " ")}`.trim() };
}
