/** For files, processes and commands as the subject: worlds and learners of this file are WebAssembly, unless it names a device. */
export function worldsOnWasm(): void {
  process.env.CORRAL_DEVICE = "wasm";
}
