// the software adapters of this machine, for tests that run on each: the embedded one always, the system's if it works; or the one that `CORRAL_TEST_ADAPTERS` names
import { AdapterUnavailableError } from "../../src/core/errors.ts";
import { openDevice } from "../../src/gpu/device.ts";

/** Names for `openDevice({ adapter })`. */
export async function softwareAdapters(): Promise<string[]> {
  const found: string[] = [];

  for (const adapter of (process.env.CORRAL_TEST_ADAPTERS ?? "system,embedded").split(",")) {
    try {
      (await openDevice({ adapter })).close();
      found.push(adapter);
    } catch (error) {
      if (!(error instanceof AdapterUnavailableError)) throw error;
      console.log(`no ${adapter} software adapter: ${error.message}`);
    }
  }

  return found;
}
