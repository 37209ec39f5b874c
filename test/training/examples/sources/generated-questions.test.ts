import { test } from "uvu";
import * as assert from "uvu/assert";
import { generatedQuestions } from "../../../../src/training/examples/sources/generated-questions.ts";
import { wordsOf } from "../../../../src/training/examples/sources/words.ts";
import { ALL, listOf, textsOf } from "../../../support/sources.ts";

const OWLS = textsOf(
  "A first sentence is here. One two three four five six seven barn owl eight nine ten eleven twelve thirteen fourteen",
  "barn owl hunts by ear at night over fields",
  "the red fox hides in its den",
);

test("what stands in place of the phrase, with at most ten words beside it", async () => {
  const questions = (await listOf(generatedQuestions(OWLS, ALL))).map(
    ({ answers, question, relevant, removal }) => ({ answers, question, relevant, removal }),
  );
  const rest = { removal: undefined };
  assert.equal(questions, [
    {
      ...{ answers: ["barn owl"], relevant: ["p0"], ...rest },
      question: "Three four five six seven what eight nine ten eleven twelve?",
    },
    {
      ...{ answers: ["barn owl"], relevant: ["p1"], ...rest },
      question: "What hunts by ear at night over fields?",
    },
  ]);
});

test("a phrase at the end has ten words before it", async () => {
  const corpus = textsOf(
    "Here is a first sentence. A b c d e f g h i j k l barn owl",
    "barn owl",
    "nothing of the kind",
  );
  const [made] = await listOf(generatedQuestions(corpus, ALL));
  assert.is(made?.question, "C d e f g h i j k l what?");
});

test("seed and passage decide, and long lists give short questions", async () => {
  const many = textsOf(
    ...Array.from({ length: 60 }, (_, i) => `owl${i % 20} ${"very ".repeat(i)}old tree ${i}, ${i}`),
  );
  const made = await listOf(generatedQuestions(many, ALL));
  assert.ok(made.length > 20);
  assert.equal(await listOf(generatedQuestions(many, ALL)), made);
  for (const { question, answers } of made)
    assert.ok(
      wordsOf(question).length <= 11 && !wordsOf(question).some(({ key }) => key === answers[0]),
    );
});

test.run();
