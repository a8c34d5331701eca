// the texts of the kernels and shaders that are written by hand, in a file of the bundle that is loaded when they are needed
let texts: Readonly<Record<string, string>> | undefined;

export async function loadShaders(): Promise<void> {
  texts ??= (await import("corral:shaders")).default;
}

export function shaderText(file: string): string {
  const text = texts?.[file];
  if (text === undefined) throw new Error(texts ? `the bundle has no shader ${file}` : "shaders are not loaded");
  return text;
}
