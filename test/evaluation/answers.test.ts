import { test } from "uvu";
import * as assert from "uvu/assert";
import { containsAnswer, exactMatch, f1, normalizeAnswer } from "../../src/evaluation/answers.ts";

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

test.run();
