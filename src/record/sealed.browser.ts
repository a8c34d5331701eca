// a page has no folders: it takes bundles as zips
import { CorralError } from "../core/errors.ts";

/** @throws CorralError bundle-not-written */
export function writeSealed(_directory: string, name: string): string {
  throw new CorralError(
    "bundle-not-written",
    `the bundle ${name} was not written: a page has no folders. Pass recorder.save, a function that takes it as a zip, or run the same task, options and seed in Node.`,
    { name },
  );
}
