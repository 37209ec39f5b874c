/** Questions whose answers a corpus contains, against a loop over all pairs. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { containsAnswer } from "../../../src/evaluation/answers.ts";
import { countAnswered } from "../../../src/training/examples/corpus-answers.ts";
import { passagesOf } from "../../support/sources.ts";

test("counts as a loop over all questions and passages does", async () => {
  const word = fc.constantFrom("an", "old", "red", "OLD", "owl", "hunts", "at", "night");
  const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(" "));
  const passage = fc.record({ title: text, text });
  const answers = fc.array(
    fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" ")),
    { maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(passage, { maxLength: 5 }),
      fc.array(answers, { maxLength: 5 }),
      async (all, asked) => {
        const passages = all.map((one, i) => ({ id: `${i}`, ...one }));
        const examples = asked.map((answers, i) => ({
          ...{ id: `${i}`, question: "?", answers, relevant: [] },
        }));
        const withAnswers = asked.filter(({ length }) => length > 0);
        const expected = withAnswers.filter((some) =>
          passages.some(({ title, text }) =>
            [title, text].some((part) => containsAnswer(part, some)),
          ),
        );
        assert.equal(await countAnswered(passagesOf(passages), examples), {
          answered: expected.length,
          questions: withAnswers.length,
        });
      },
    ),
    { numRuns: 300 },
  );
});

test.run();
