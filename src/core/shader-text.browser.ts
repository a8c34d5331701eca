// the texts of the kernels and shaders that are written by hand, in the bundle
import { SHADERS } from "corral:built";

export function shaderText(file: string): string {
  const text = SHADERS[file];
  if (text === undefined) throw new Error(`the bundle has no shader ${file}`);
  return text;
}
