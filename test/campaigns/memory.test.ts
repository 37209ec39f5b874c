/** The campaign of memory at a small size. docs/RELIABILITY.md has its full size. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { NO_FAILURE, outputOf } from "./output-of.ts";

/** Kinds of memory.ts. So few find only large leaks, such as a model that stays after its end. */
const COUNTS: Readonly<Record<string, number>> = {
  searches: 50,
  answers: 10,
  steps: 20,
  loads: 10,
};

for (const [kind, count] of Object.entries(COUNTS))
  test(`memory: ${count} ${kind}`, async () => {
    const output = await outputOf("memory", count, "--kind", kind);
    assert.match(output, /first MB \d+, mean MB \d+, last MB \d+, bytes an operation -?\d+, /);
    assert.match(output, NO_FAILURE);
  });

test.run();
