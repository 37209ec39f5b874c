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
  "writer-kills": 30,
  "training-kills": 5,
  "refresh-kills": 1,
};
/** These mostly wait for time limits, so they run beside the others. */
const WAITING = ["hostile-http", "hostile-hub"];

const run = (name: string): Promise<string> => outputOf(name, COUNTS[name]!);
const waiting = new Map(WAITING.map((name) => [name, run(name)]));

for (const [name, count] of Object.entries(COUNTS).reverse())
  test(`${name}: ${count}`, async () => {
    assert.match(await (waiting.get(name) ?? run(name)), NO_FAILURE);
  });

test.run();
