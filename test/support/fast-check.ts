// properties draw the same cases in every run, so that a run fails by what was changed; the full one draws anew
import fc from "fast-check";

const SEED = 20_260_101;

// a failure prints its seed either way
if (process.env.CORRAL_FULL !== "1") fc.configureGlobal({ seed: SEED });
