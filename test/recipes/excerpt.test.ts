/** Excerpts of paragraphs: what they hold, and how long they are. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { excerpt, wordsOf } from "../../recipes/reatt-mini/data/excerpt.ts";
import { createRandom } from "../../src/math/random.ts";

const SENTENCES = [
  "The tower was begun in 1887.",
  "It opened in 1889 for a fair.",
  "Its builder, Gustave Eiffel, kept a flat at its top.",
  "In 1889 it was also the tallest building.",
  "Two million people came that year.",
];
const TOWER = { id: "tower", title: "Eiffel Tower", text: SENTENCES.join(" ") };

const excerpts = (question: string, answer: string, words: number): string[] =>
  Array.from(
    { length: 40 },
    (_, seed) =>
      excerpt(TOWER, { question, answers: ["nothing", answer], words }, createRandom(seed)).text,
  );

test("a single sentence: of those with the answer, the one that is most like the question", () => {
  assert.equal([...new Set(excerpts("When did it open for a fair?", "1889", 1))], [SENTENCES[1]]);
  assert.equal(
    [...new Set(excerpts("When was it the tallest building?", "1889", 1))],
    [SENTENCES[3]],
  );
});

test("neighbouring sentences until there are enough words, on either side", () => {
  const found = new Set(excerpts("Who kept a flat?", "Gustave Eiffel", 15));
  assert.equal(found, new Set([SENTENCES.slice(1, 3).join(" "), SENTENCES.slice(2, 4).join(" ")]));
  for (const text of excerpts("Who kept a flat?", "Gustave Eiffel", 20)) {
    assert.ok(TOWER.text.includes(text) && text.includes("Gustave Eiffel"));
    assert.ok(wordsOf(text).length >= 20);
  }
});

test("the whole passage where it is no longer, and where no sentence has the answer", () => {
  assert.equal([...new Set(excerpts("Who kept a flat?", "Gustave Eiffel", 1000))], [TOWER.text]);
  assert.equal([...new Set(excerpts("Who kept a flat?", "Le Corbusier", 1))], [TOWER.text]);
});

test("the same sentences have the same id, others another", () => {
  const of = (words: number) =>
    excerpt(TOWER, { question: "Who came?", answers: ["Two million"], words }, createRandom(1));
  assert.equal([of(1).id, of(1).title], [of(5).id, "Eiffel Tower"]);
  assert.is.not(of(1).id, of(15).id);
});

test.run();
