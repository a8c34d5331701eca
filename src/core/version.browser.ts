// versions of what runs, as they were when the bundle was built
import { PACKAGES, VERSION } from "corral:built";

export const corralVersion = (): string => VERSION;

export const packageVersion = (name: string): string => PACKAGES[name] ?? "unknown";
