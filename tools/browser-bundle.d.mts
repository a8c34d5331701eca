import type { Metafile } from "esbuild";

/** Files of the library for browsers, by name. */
export function buildBrowser(options?: {
  readonly isWhole?: boolean;
  readonly entries?: Readonly<Record<string, string>>;
  readonly metafile?: boolean;
}): Promise<{ readonly files: Readonly<Record<string, string>>; readonly metafile?: Metafile }>;

/** Where MuJoCo's program lies. */
export function mujocoWasm(): string;
