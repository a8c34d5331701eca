// bundles are folders, which a page has none of: a trip is reported with the reason why nothing was written
import { CorralError } from "../core/errors.ts";

/** @throws CorralError bundle-not-written */
export function writeBundle(_directory: string, name: string): string {
  throw new CorralError(
    "bundle-not-written",
    `the bundle ${name} was not written: a page has no folders. Run the same task, options and seed in Node.`,
    { name },
  );
}
