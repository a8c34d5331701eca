/** Where a build of the sources as they are lies, and where to make it if it is not there. */
export function keptBuild(name: string): { readonly folder: string; readonly making?: string };

/** Puts what was made in its place. */
export function keep(build: { readonly folder: string; readonly making?: string }): void;
