/** Access to data that is too large for the repository: the folder `shared` beside the checkout. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "uvu";

export const SHARED: string = resolve(import.meta.dirname, "../../../shared");

/** A `test` that is skipped if the shared data is missing. */
export function needsShared<Test extends { skip: unknown }>(test: Test): Test {
  return existsSync(SHARED) ? test : (test.skip as Test);
}

export const testWithShared: typeof test = needsShared(test);
