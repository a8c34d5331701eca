import type { Metafile } from "esbuild";

/** Files of the library for browsers, by name. */
export function buildBrowser(options?: {
  readonly isWhole?: boolean;
  readonly entries?: Readonly<Record<string, string>>;
  readonly metafile?: boolean;
}): Promise<{ readonly files: Readonly<Record<string, string>>; readonly metafile?: Metafile }>;

/** Where MuJoCo's program lies. */
export function mujocoWasm(): string;

/** Names of the files that a page loads before anything runs that imports `entry`. */
export function atStart(metafile: Metafile, entry?: string): readonly string[];

/** A text with numbers in place of the names of members of MuJoCo's enums. */
export function numbered(text: string): string;
