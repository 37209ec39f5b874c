/** The signals of an answer: how well its passages match the question. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { answerSignals } from "../../src/decoder/answer-signals.ts";

const generated = { tokenIds: [5, 1], logProbabilities: [-1, -1], margins: [1, 1], emptiness: 0 };
const passages = [
  { text: "ranked first", attention: 0.5 },
  { text: "most similar", attention: 0.5 },
];
const leadOf = (next?: { text: string; similarity: number }): number | undefined =>
  answerSignals("What?", generated, passages, { similarities: [0.5, 1], next }).lead;

test("the next passage competes with the most similar one, unless it is a copy of it", () => {
  assert.is(leadOf(), 0.5);
  assert.is(leadOf({ text: "most similar", similarity: 1 }), 0.5);
  assert.is(leadOf({ text: "ranked first", similarity: 0.75 }), 0.25);
  assert.is(leadOf({ text: "another", similarity: 0.75 }), 0.25);
  assert.is(leadOf({ text: "another", similarity: 0.25 }), 0.5);
});

test("a passage without another has no lead", () => {
  const match = { similarities: [1], next: undefined };
  assert.is(answerSignals("What?", generated, [passages[0]!], match).lead, undefined);
});

test.run();
