import { test } from "uvu";
import * as assert from "uvu/assert";
import { unitsOf } from "../../../../src/training/examples/sources/sampling.ts";
import { wordsOf } from "../../../../src/training/examples/sources/words.ts";

const keys = (text: string): string[] => wordsOf(text).map(({ key }) => key);
const unitTexts = (text: string): string[] =>
  unitsOf(text).map(({ start, end }) => text.slice(start, end));

test("words of scripts with and without spaces", () => {
  assert.equal(keys("Don’t re-use ＡＢＣ, 1973!"), ["don’t", "re", "use", "abc", "1973"]);
  assert.equal(keys("我们使用手机上网"), ["我们", "使用", "手机", "上网"]);
  assert.equal(keys("ภาษาไทย ง่าย"), ["ภาษา", "ไทย", "ง่าย"]);
  assert.equal(keys("ሰላም ለዓለም"), ["ሰላም", "ለዓለም"]);
  assert.equal(keys("… — !"), []);
});

test("offsets are those of the text", () => {
  const text = "Das Wort 手机 steht hier.";
  for (const { start, end, key } of wordsOf(text))
    assert.is(text.slice(start, end).toLowerCase(), key);
});

test("units are sentences, or windows where a text has no sentence ends", () => {
  assert.equal(unitTexts("The first has five words. Short one. And this has five too."), [
    "The first has five words.",
    "And this has five too.",
  ]);
  const letters = "a b c d e f g h i j k l m n o p q";
  assert.equal(unitTexts(letters), ["a b c d e", "f g h i j", "k l m n o p q"], "thirds");
  assert.equal(unitTexts("a b c d e f g"), ["a b c d e f g"], "too short to cut");
  const endless = Array.from({ length: 65 }, (_, i) => `w${i}`).join(" ");
  assert.equal(
    unitTexts(endless).map((unit) => unit.split(" ").length),
    [20, 20, 25],
  );
  assert.equal(unitTexts(""), []);
});

test.run();
