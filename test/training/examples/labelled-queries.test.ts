import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  type LabelledQuery,
  labelledExample,
  labelledQueries,
} from "../../../src/training/examples/labelled-queries.ts";

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
  const labelled = labelledQueries(
    queries,
    judge({ q1: { a: 2, b: 0, c: 1 }, q2: { a: 0, b: -1 } }),
    corpus,
  );
  assert.equal(labelled, [
    {
      id: "q1",
      question: "what is a passage",
      relevant: [
        { passageId: "a", label: 2 },
        { passageId: "c", label: 1 },
      ],
    },
  ]);
});

const graded: LabelledQuery = {
  id: "q1",
  question: "what is a passage",
  relevant: [
    { passageId: "a", label: 2 },
    { passageId: "c", label: 1 },
  ],
};
const read = (id: string) => corpus.get(id)!;

test("the target is the label and the text, without the title", () => {
  const example = labelledExample({ ...graded, relevant: [{ passageId: "a", label: 2 }] }, read, {
    seed: 1,
    step: 0,
  });
  assert.equal(example, {
    question: "what is a passage",
    answer: "relevance: 2. Text of a.",
    passageId: "a",
    label: 2,
  });
});

test("one relevant passage a step: the same for the same seed and step, in the long run each as often", () => {
  const draws = Array.from(
    { length: 1000 },
    (_, step) => labelledExample(graded, read, { seed: 1, step }).passageId,
  );
  const again = Array.from(
    { length: 1000 },
    (_, step) => labelledExample(graded, read, { seed: 1, step }).passageId,
  );
  const other = Array.from(
    { length: 1000 },
    (_, step) => labelledExample(graded, read, { seed: 2, step }).passageId,
  );
  assert.equal(draws, again);
  assert.not.equal(draws, other);
  const first = draws.filter((id) => id === "a").length;
  assert.ok(Math.abs(first - 500) < 60, `${first}`);
});

test("labels of another set, and labels without a relevant passage, are refused in one line", () => {
  const refused = (labels: Record<string, Record<string, number>>): string => {
    try {
      labelledQueries(queries, judge(labels), corpus);
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
