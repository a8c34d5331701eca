// compiles kernels as the browser does by itself

export const compileModule = (bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module => new WebAssembly.Module(bytes);
