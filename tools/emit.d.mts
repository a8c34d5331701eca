/** Writes the JavaScript of the sources into a folder, with further options of tsc; its exit status, 0 if all is there. */
export function emit(dist: string, ...options: string[]): number;
