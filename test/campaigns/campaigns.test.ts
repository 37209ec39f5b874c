/** The campaigns at a small size. docs/RELIABILITY.md has the commands for their full size. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { NO_FAILURE, outputOf } from "./output-of.ts";

const COUNTS: Readonly<Record<string, number>> = {
  "power-cuts": 300,
  "hostile-http": 150,
  "hostile-hub": 20,
  "bit-flips": 200,
  "writer-kills": 100,
  "training-kills": 5,
  "refresh-kills": 2,
};

for (const [name, count] of Object.entries(COUNTS))
  test(`${name}: ${count}`, async () => {
    assert.match(await outputOf(name, count), NO_FAILURE);
  });

test.run();
