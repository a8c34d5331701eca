// what tools/browser-bundle.mjs knows when it builds
declare module "corral:built" {
  /** corral's version, and those of packages by name. */
  export const VERSION: string;
  export const PACKAGES: Readonly<Record<string, string>>;
  /** Files of `shaders` by their path there. */
  export const SHADERS: Readonly<Record<string, string>>;
}
