// what tools/browser-bundle.mjs knows when it builds
declare module "corral:built" {
  /** corral's version, and those of packages by name. */
  export const VERSION: string;
  export const PACKAGES: Readonly<Record<string, string>>;
}
declare module "corral:models" {
  /** Models of environments by their path below `envs`. */
  export const MODELS: Readonly<Record<string, () => Promise<{ readonly default: string }>>>;
}
declare module "corral:shaders" {
  /** Files of `shaders` by their path there. */
  const files: Readonly<Record<string, string>>;
  export default files;
}
