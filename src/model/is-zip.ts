// whether bytes are a zip, by how they begin: who reads none need not load what reads them
export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3;
