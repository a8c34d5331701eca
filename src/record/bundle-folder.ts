// where bundles are written if nothing else is said
import { join } from "node:path";

export const bundleFolder = (): string => process.env.CORRAL_BUNDLES || join(process.cwd(), "corral-bundles");
