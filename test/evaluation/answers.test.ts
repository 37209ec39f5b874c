import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { containsAnswer, exactMatch, f1, normalizeAnswer } from "../../src/evaluation/answers.ts";
import { assertLinear } from "../support/linear-time.ts";

test("normalises as SQuAD's script does", () => {
  const cases: Record<string, string> = {
    "The  Cat,   sat.": "cat sat",
    "a an the A An THE": "",
    "U.S.": "us",
    "Theory of an anathema": "theory of anathema",
    "25%": "25",
    "the-cat": "thecat",
    "L'éa — «the» “x”": "léa — « » “x”",
    "élan a été": "élan été",
    "snake_case\t\n": "snakecase",
    "$1,000.00": "100000",
    "": "",
  };
  for (const [answer, expected] of Object.entries(cases))
    assert.is(normalizeAnswer(answer), expected);
});

test("exact match is the best over the accepted answers", () => {
  const accepted = ["Santa Clara, California", "Levi's Stadium"];
  assert.ok(exactMatch("the levis stadium!", accepted));
  assert.ok(exactMatch("santa clara california", accepted));
  assert.not(exactMatch("Santa Clara", accepted));
  assert.not(exactMatch("", accepted));
  assert.not(exactMatch("anything", []));
});

test("F1, worked by hand", () => {
  // santa clara | santa clara california: 2 common of 2 + 3.
  assert.is(
    f1("in the Santa Clara", ["Levi's Stadium", "Santa Clara, California"]),
    (2 * 2) / (3 + 3),
  );
  assert.is(f1("Santa Clara", ["Santa Clara, California"]), (2 * 2) / (2 + 3));
  // Repeated words count as often as both have them: "to be or not to be" has "to" twice, the other
  // once.
  assert.is(f1("to be or not to be", ["to be"]), (2 * 2) / (6 + 2));
  assert.is(f1("to to to", ["to be to"]), (2 * 2) / (3 + 3));
  assert.is(f1("Denver", ["Carolina"]), 0);
  assert.is(f1("", ["Carolina"]), 0);
  assert.is(f1("the", ["A"]), 1);
  assert.is(f1("anything", []), 0);
});

test("a passage contains an answer if its words occur in sequence", () => {
  const text =
    "Marie Curie (née Skłodowska) was born in Warsaw, then in the Kingdom of Poland, on 7 November 1867.";
  for (const answer of [
    "marie curie",
    "Warsaw",
    "7 NOVEMBER 1867",
    "(née",
    "Ne\u0301e Sk\u0142odowska",
    "warsaw , then",
  ]) {
    assert.ok(containsAnswer(text, ["no", answer]), answer);
  }
  // Not a part of a word, not without the words between, not across a mark that the text has.
  for (const answer of ["War", "Marie Skłodowska", "Warsaw then", "18", "nee", "1867.."]) {
    assert.not(containsAnswer(text, [answer]), answer);
  }
  assert.not(containsAnswer(text, ["", " \u200b"]));
  assert.not(containsAnswer(text, []));
  assert.not(containsAnswer("", ["x"]));
});

/** F1 by its definition: each word of one answer removes one equal word of the other. */
function naiveF1(answer: string, other: string): number {
  const a = normalizeAnswer(answer).split(" ");
  const unmatched = normalizeAnswer(other).split(" ");
  const common = a.filter((word) => {
    const at = unmatched.indexOf(word);
    if (at >= 0) unmatched.splice(at, 1);
    return at >= 0;
  }).length;
  const total = a.length + unmatched.length + common;
  return (2 * common) / total;
}

const words = fc.array(fc.constantFrom("x", "y", "z", "the", "X.", "é", ""), { maxLength: 12 });
const sentence = words.map((list) => list.join(" "));

test("F1 equals its definition for any answers", () => {
  fc.assert(
    fc.property(sentence, fc.array(sentence, { maxLength: 3 }), (answer, accepted) => {
      const expected = Math.max(0, ...accepted.map((other) => naiveF1(answer, other)));
      assert.is(f1(answer, accepted), expected);
    }),
  );
});

test("an answer is found wherever its tokens are in sequence", () => {
  fc.assert(
    fc.property(sentence, sentence, (text, answer) => {
      const tokens = (value: string) => value.toLowerCase().match(/[a-zé]+|\./gu) ?? [];
      const [haystack, needle] = [tokens(text), tokens(answer)];
      const expected = haystack.some((_, start) =>
        needle.every((token, i) => haystack[start + i] === token),
      );
      assert.is(containsAnswer(text, [answer]), needle.length > 0 && expected);
    }),
  );
});

test("the time is linear in the number of words and of accepted answers", async () => {
  await assertLinear((size) => {
    const numbers = Array.from({ length: size }, (_, i) => `w${i}`);
    assert.is(f1(numbers.join(" "), [numbers.toReversed().join(" ")]), 1);
  }, 20_000);
  await assertLinear((size) => assert.is(f1("x", Array(size).fill("x")), 1), 20_000);
  await assertLinear(
    (size) => assert.not(containsAnswer("x ".repeat(2 * size), [`${"x ".repeat(size)}y`])),
    20_000,
  );
});

test.run();
