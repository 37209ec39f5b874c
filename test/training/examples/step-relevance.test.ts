/** Positives and relevant passages of a step, against a naive loop. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { containsAnswer } from "../../../src/evaluation/answers.ts";
import type { Passage } from "../../../src/text/passage.ts";
import type { TextExample } from "../../../src/training/examples/step.ts";
import { stepRelevance } from "../../../src/training/examples/step-relevance.ts";

const passage = (id: string, text: string, title = ""): Passage => ({ id, title, text });
const rome = passage("rome", "The capital of Italy is Rome.");
const milan = passage("milan", "It is north of Rome.", "Milan");
const paris = passage("paris", "The capital of France.", "Paris");
const oslo = passage("oslo", "A city at the sea.", "Oslo");

const example = (passages: Passage[], answers: string[], ...relevant: string[]): TextExample => ({
  question: "?",
  answer: "",
  passages,
  relevant,
  answers,
});

test("positives are the passages with a label, or without labels those with an answer", () => {
  const [labelled, unlabelled, lost, unknown] = stepRelevance([
    example([oslo, rome, milan], ["Rome"], "rome", "elsewhere"),
    example([oslo, rome, milan], ["rome"]),
    example([oslo, milan], ["Rome"], "rome"),
    example([oslo, milan], ["Bern", "", " "]),
    example([paris, passage("bern", "")], []),
  ]);
  assert.equal([labelled!.positives, labelled!.notNegatives], [[1], [milan]]);
  assert.equal([unlabelled!.positives, unlabelled!.notNegatives], [[1, 2], []]);
  assert.equal([lost!.positives, lost!.notNegatives], [[], [rome, milan]]);
  assert.equal([unknown!.positives, unknown!.notNegatives], [[], []]);
});

test("passages of other questions are no negatives if they have a label or an answer", () => {
  const shortened = passage("rome", "The capital of Italy.");
  const [first, second] = stepRelevance([
    example([shortened, oslo], ["Paris"], "rome"),
    example([rome, paris, oslo], ["Oslo"], "paris"),
  ]);
  assert.equal([first!.positives, first!.notNegatives], [[0], [rome, paris]]);
  assert.equal([second!.positives, second!.notNegatives], [[1], [oslo]]);
});

test("an answer in more than half of the passages is not used", () => {
  const all = [rome, milan, paris, oslo];
  const [labelled, unlabelled] = stepRelevance([
    example(all, ["Rome", "Paris"], "rome"),
    example(all, ["Rome", "Paris"]),
  ]);
  assert.equal([labelled!.positives, labelled!.notNegatives], [[0], []]);
  assert.equal([unlabelled!.positives, unlabelled!.notNegatives], [[], []]);
});

test("as a naive loop over all questions and passages", () => {
  const words = fc.constantFrom("a", "b", "C", "d.", "e-f", "\u00e9");
  const texts = fc.array(words, { maxLength: 6 }).map((all) => all.join(" "));
  const pools = fc.array(fc.tuple(texts, texts), { minLength: 1, maxLength: 6 });
  const places = fc.array(fc.nat(5), { minLength: 1, maxLength: 4 });
  const drawn = fc.array(
    fc.tuple(places, fc.array(texts, { maxLength: 2 }), fc.subarray(["0", "1"])),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  fc.assert(
    fc.property(pools, drawn, (pool, questions) => {
      const drawnPassages = pool.map(([title, text], i) => passage(`${i}`, text, title));
      const examples = questions.map(([which, answers, relevant]) =>
        example(
          [...new Set(which.map((i) => drawnPassages[i % drawnPassages.length]!))],
          answers,
          ...relevant,
        ),
      );
      const all = [...new Set(examples.flatMap((other) => other.passages))];
      stepRelevance(examples).forEach(({ positives, notNegatives }, i) => {
        const { passages, answers, relevant } = examples[i]!;
        const found = all.filter(
          ({ title, text }) => containsAnswer(title, answers) || containsAnswer(text, answers),
        );
        for (const { id } of all) {
          const has = found.length <= all.length / 2 && found.some((one) => one.id === id);
          const isPositive = relevant.length > 0 ? relevant.includes(id) : has;
          const own = passages.findIndex((one) => one.id === id);
          assert.is(positives.includes(own), own >= 0 && isPositive);
          const isRelevant = (relevant.includes(id) || has) && !positives.includes(own);
          assert.is(
            notNegatives.some((one) => one.id === id),
            isRelevant,
          );
        }
      });
    }),
  );
});

test.run();
