// the texts of the kernels and shaders that are written by hand
import { readFileSync } from "node:fs";

/** A page loads them with this; here they are files. */
export const loadShaders = async (): Promise<void> => {};

/** A file of `shaders` by its path there. */
export const shaderText = (file: string): string =>
  readFileSync(new URL(`../../shaders/${file}`, import.meta.url), "utf8");
