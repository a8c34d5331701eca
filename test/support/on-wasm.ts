// for files, processes and commands as the subject: worlds and learners of this file are WebAssembly, unless it names a device
process.env.CORRAL_DEVICE = "wasm";
