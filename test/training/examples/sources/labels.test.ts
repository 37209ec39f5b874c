import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import {
  labelledExamples,
  relevanceTarget,
} from "../../../../src/training/examples/sources/labels.ts";

const queries = new Map([
  ["q1", "what is a passage"],
  ["q2", "who asked"],
  ["q3", "never judged"],
]);
const corpus = new Map<string, Passage>(
  ["a", "b", "c"].map((id) => [id, { id, title: `Title ${id}`, text: `Text of ${id}.` }]),
);
const judge = (labels: Record<string, Record<string, number>>) =>
  new Map(
    Object.entries(labels).map(([query, judged]) => [query, new Map(Object.entries(judged))]),
  );

test("queries keep their relevant passages with grades; unjudged and irrelevant ones are left out", () => {
  const labelled = labelledExamples(
    queries,
    judge({ q1: { a: 2, b: 0, c: 1 }, q2: { a: 0, b: -1 } }),
    corpus,
  );
  assert.equal(labelled, [
    {
      id: "q1",
      question: "what is a passage",
      answers: [],
      relevant: ["a", "c"],
      labels: [2, 1],
    },
  ]);
});

test("the target is the label and the text, without the title", () => {
  assert.is(relevanceTarget(2, corpus.get("a")!), "relevance: 2. Text of a.");
});

test("labels of another set, and labels without a relevant passage, are refused in one line", () => {
  const refused = (labels: Record<string, Record<string, number>>): string => {
    try {
      labelledExamples(queries, judge(labels), corpus);
    } catch (error) {
      assert.instance(error, InputError);
      assert.not.match((error as Error).message, "\n");
      return (error as Error).message;
    }
    throw new Error("was not refused");
  };
  assert.match(refused({ q1: { a: 1 }, q9: { a: 1 } }), 'got 1 of 2 unknown, the first "q9"');
  assert.match(refused({ q1: { a: 1, z: 0, y: 1 } }), 'got 2 of 3 unknown, the first "z"');
  assert.match(refused({ q1: { a: 0 } }), "none for 1 queries");
  assert.match(refused({}), "none for 0 queries");
});

test.run();
