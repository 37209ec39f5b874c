/** The campaigns at a small size. docs/RELIABILITY.md has the commands for their full size. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { NO_FAILURE, outputOf } from "./output-of.ts";

/** Enough for a fault in each recording, for each kind of process, and for each damaged file. */
const COUNTS: Readonly<Record<string, number>> = {
  "hostile-http": 100,
  "hostile-hub": 20,
  "power-cuts": 75,
  "bit-flips": 75,
  "writer-kills": 60,
  "training-kills": 5,
  "refresh-kills": 1,
  "postgres-kills": 3,
  "full-disk": 20,
};
/** These run beside the others: two mostly wait for time limits, and one takes the longest. */
const BESIDE = ["hostile-http", "hostile-hub", "training-kills"];

const run = (name: string): Promise<string> => outputOf(name, COUNTS[name]!);
const begun = new Map(BESIDE.map((name) => [name, run(name)]));

for (const [name, count] of Object.entries(COUNTS).reverse())
  test(`${name}: ${count}`, async () => {
    assert.match(await (begun.get(name) ?? run(name)), NO_FAILURE);
  });

test.run();
