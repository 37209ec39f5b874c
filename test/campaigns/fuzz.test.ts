/** The fuzz campaign at a small size. `fuzz.ts` describes it. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { CASES } from "../documents/cases.ts";
import { NO_FAILURE, outputOf } from "./output-of.ts";

test("fuzzed files are read or end in an InputError of one line", async () => {
  const output = await outputOf("fuzz", 1_500);
  assert.match(output, NO_FAILURE);
  for (const name of Object.keys(CASES))
    assert.match(output, new RegExp(`, ${name} [1-9]`), `no input of ${name}`);
});

test.run();
