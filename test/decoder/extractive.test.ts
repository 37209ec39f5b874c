/** Tokens that may follow in an extractive answer, against all spans of the passages. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { spanContinuations } from "../../src/decoder/extractive.ts";

const END = 1;
const passage = fc
  .array(fc.integer({ min: 2, max: 5 }), { maxLength: 8 })
  .map((ids) => [...ids, END]);

test("what may follow is what follows in a span of a passage, and the end", () =>
  fc.assert(
    fc.property(
      fc.array(passage, { minLength: 1, maxLength: 3 }),
      fc.array(fc.integer({ min: 2, max: 5 }), { maxLength: 3 }),
      (passages, written) => {
        const spans = new Set(
          passages.flatMap((ids) =>
            ids.flatMap((_, first) =>
              ids.slice(first, -1).map((_, length) => ids.slice(first, first + length + 1).join()),
            ),
          ),
        );
        const expected = [2, 3, 4, 5].filter((token) => spans.has([...written, token].join()));
        if (written.length > 0 || expected.length === 0) expected.push(END);
        const actual = [...spanContinuations(passages, END)(written)];
        assert.equal(
          actual.sort((a, b) => a - b),
          expected.sort((a, b) => a - b),
        );
      },
    ),
  ));

test.run();
