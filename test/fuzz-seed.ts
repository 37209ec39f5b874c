/**
 * Gives all properties of a test file the seed REATT_FUZZ_SEED. scripts/run-tests.ts loads it
 * before the file.
 */

import * as fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.REATT_FUZZ_SEED) });
