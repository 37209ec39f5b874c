import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import {
  editDistance,
  substitutesOf,
  Vocabulary,
} from "../../../src/retrieval/bm25/substitutes.ts";
import { hybridParameters } from "../../../src/retrieval/hybrid.ts";

/** The recursive definition of optimal string alignment. */
function naiveDistance(a: string, b: string): number {
  if (a === "" || b === "") return a.length + b.length;
  const [restA, restB] = [a.slice(0, -1), b.slice(0, -1)];
  const choices = [
    naiveDistance(restA, b) + 1,
    naiveDistance(a, restB) + 1,
    naiveDistance(restA, restB) + (a.at(-1) === b.at(-1) ? 0 : 1),
  ];
  if (a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1))
    choices.push(naiveDistance(a.slice(0, -2), b.slice(0, -2)) + 1);
  return Math.min(...choices);
}

test("the distance is that of the definition", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 });
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 3 }), (a, b, most) => {
      assert.is(editDistance(a, b, most), Math.min(naiveDistance(a, b), most + 1));
    }),
  );
});

test("an unknown word has the terms with the fewest errors", () => {
  const vocabulary = new Vocabulary(["salari", "salad", "recommend", "celari", "sal", "10809"]);
  assert.equal(vocabulary.nearest("saleri"), ["salari"]);
  assert.equal(vocabulary.nearest("recomend"), ["recommend"]);
  assert.equal(vocabulary.nearest("recomand"), ["recommend"]); // two errors in eight letters
  assert.equal(vocabulary.nearest("sxlxri"), []); // two in six
  assert.equal(vocabulary.nearest("zalari"), []); // its first letter is another one
  const many = new Vocabulary(Array.from("bcdefghij", (letter) => `word${letter}`));
  assert.equal(many.nearest("worda"), []); // near nine terms
});

const of = (terms: string[], known: string[]) =>
  Object.fromEntries(
    substitutesOf(
      terms,
      (term) => known.includes(term),
      () => new Vocabulary(known),
    ),
  );

test("only words that no passage has are completed, and never a number", () => {
  assert.equal(of(["minimum", "saleri"], ["salari", "minimum"]), { salari: 0.5 });
  assert.equal(of(["saleri"], ["salari", "saleri"]), {});
  assert.equal(of(["10808"], ["10809"]), {});
  assert.equal(of(["cat"], ["cap"]), {}); // of three letters
  assert.equal(of(["salari", "saleri"], ["salari"]), {}); // the question has it
});

test("an amount is found with and without its space", () => {
  assert.equal(of(["5", "kg"], ["5kg"]), { "5kg": 1 });
  assert.equal(of(["5kg"], ["5", "kg"]), { "5": 1, kg: 1 });
  assert.equal(of(["5kg"], ["5kg"]), {});
});

test("hybrid search finds a misspelt word, BM25 alone does not", async () => {
  const bm25 = await buildBm25([
    { id: "pay", title: "", text: "The minimum salary is 2,000 EUR." },
    { id: "age", title: "", text: "The minimum age is 18, the minimum height 150 cm." },
    { id: "box", title: "", text: "A parcel weighs 5kg at most." },
  ]);
  const first = (question: string) => bm25.search(question, 1, hybridParameters())[0]?.id;
  assert.is(first("minimum salery"), "pay");
  assert.is(first("saalry"), "pay");
  assert.is(first("up to 5 kg"), "box");
  assert.equal(bm25.search("salery", 1), []);
});

test.run();
