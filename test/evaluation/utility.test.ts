import { test } from "uvu";
import * as assert from "uvu/assert";
import { evaluateUtility } from "../../src/evaluation/utility.ts";
import { InputError } from "../../src/io/errors.ts";

test("means by rank over the questions with a passage there, worked by hand", () => {
  assert.equal(evaluateUtility([[3, -1, 4], [-1, 2], [], [0]]), {
    questions: 4,
    byRank: [(3 - 1 + 0) / 3, (-1 + 2) / 2, 4],
    helped: 1 / 4, // a utility of 0 does not help
  });
});

test("no questions have no means", () => {
  assert.equal(evaluateUtility([]), { questions: 0, byRank: [], helped: 0 });
});

test("wrong arguments", () => {
  assert.throws(
    () => evaluateUtility([["1"]] as never),
    (error: unknown) => error instanceof InputError && /^utilities/.test(error.message),
  );
});

test.run();
