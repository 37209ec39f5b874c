/** The normal form of text, against BERT's own tokenizer and by examples of each kind. */

import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { findAnswerSpan } from "../../src/text/answer-span.ts";
import { normalForm } from "../../src/text/normal-form.ts";
import { termsOf } from "../../src/text/terms.ts";
import { tokenSpans } from "../../src/text/tokens/token-spans.ts";
import { loadTokenizer, type Tokenizer } from "../../src/text/tokens/tokenizer.ts";

const bert = await loadTokenizer("models/reatt-mini/spiece.model");
const t5 = await loadTokenizer("test/fixtures/t5/spiece.model");

/** One of each kind: soft hyphen, zero width, joiners, variation selector, bidi marks, tags. */
const INVISIBLE =
  "\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u202a\u202c\u2060\u2066\ufe0f\ufeff\u{e0041}";

const piecesOf = (tokenizer: Tokenizer, text: string): string[] =>
  tokenizer
    .encode(text)
    .map((id) => tokenizer.decode([id]))
    .filter((piece) => piece !== "");

test("texts of many scripts have the pieces of BERT's uncased tokenizer", () => {
  const lines = readFileSync("test/fixtures/bert/pieces.jsonl", "utf8").trim().split("\n");
  for (const { text, pieces } of lines.map((line) => JSON.parse(line))) {
    const expected = pieces.map((piece: string) => piece.replace(/^##(?=.)/, ""));
    assert.equal(piecesOf(bert, text), expected, text);
  }
});

test("an invisible character in a word changes neither tokens nor terms nor spans", () => {
  for (const mark of INVISIBLE) {
    const text = `The light${mark}house stands in Nor${mark}man${mark}dy.`;
    const seen = text.replaceAll(mark, "");
    for (const tokenizer of [bert, t5]) {
      assert.equal(tokenizer.encode(text), tokenizer.encode(seen), JSON.stringify(mark));
      const spans = tokenSpans(tokenizer, text, tokenizer.encode(text));
      const parts = spans.map((span) => text.slice(span!.start, span!.end)).join("");
      assert.is(parts.replaceAll(mark, ""), seen.replaceAll(" ", ""));
    }
    assert.is(normalForm(text), normalForm(seen));
    const span = findAnswerSpan("normandy", text)!;
    assert.is(text.slice(span.start, span.end), `Nor${mark}man${mark}dy`);
  }
});

test("forms of the same text have one normal form", () => {
  for (const [one, other] of [
    ["café", "cafe\u0301"],
    ["ﬁve", "five"],
    ["ｆｕｌｌ　ｗｉｄｔｈ", "full width"],
    ["it’s “so”", 'it\'s "so"'],
    ["it‘s „so“ «so»", 'it\'s "so" "so"'],
    ["Straße STRASSE", "strasse straße"],
    ["İstanbul", "istanbul"],
    ["ılık", "ILIK"],
    ["한국", "한국".normalize("NFD")],
    ["ΟΔΟΣ", "οδος"],
    ["page\fbreak", "page break"],
    ["ŉ ‴", "'n '''"],
  ] as const)
    assert.is(normalForm(one), normalForm(other));
});

const GRAPHEME = fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 });
const NUMBER = fc.constantFrom(..."5５𝟘²⁻₂½①⒈፩𐧀Ⅻ㋀㍘㎡㏠");

test("any two Unicode forms of a text have one normal form, which is stable", () =>
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(GRAPHEME, NUMBER), maxLength: 20 }), (text) => {
      const form = normalForm(text);
      for (const name of ["NFC", "NFD"] as const) assert.is(normalForm(text.normalize(name)), form);
      assert.is(normalForm(form), form);
    }),
  ));

test("numbers in sequence are joined only if they are one number", () => {
  for (const [text, form] of [
    ["₀𐧀", "0 𐧀"],
    ["𐧀㏠", "𐧀 1日"],
    ["½¼", "1⁄2 1⁄4"],
    ["5㏠ 5㎡⁶", "5 1日 5 m2 6"],
    ["①②⒈5", "1 2 1. 5"],
    ["H₂₀ 10²³ ５𝟘 ፲፩ ⅩⅡ", "h20 10^23 50 ፲፩ xii"],
  ] as const) {
    assert.is(normalForm(text), form);
    assert.is(normalForm(form), form);
  }
});

test("an exponent or a fraction does not join the number before it", () => {
  for (const [text, pieces, parts] of [
    ["10⁶ men", ["10", "^", "6", "men"], ["10", "⁶", "⁶", "men"]],
    ["10\u2060⁶", ["10", "^", "6"], ["10", "⁶", "⁶"]],
    ["10⁻³", ["10", "^", "−", "3"], ["10", "⁻", "⁻", "³"]],
    ["1½ cups", ["1", "1", "⁄", "2", "cups"], ["1", "½", "½", "½", "cups"]],
    ["x²3", ["x", "2", "3"], ["x", "²", "3"]],
    ["5 m² km² H₂O Ca²⁺", ["5", "m2", "km", "2", "h", "2", "o", "ca", "2", "+"], undefined],
  ] as const) {
    const ids = bert.encode(text);
    assert.equal(piecesOf(bert, text), pieces, text);
    const spans = tokenSpans(bert, text, ids).map((span) => text.slice(span!.start, span!.end));
    if (parts) assert.equal(spans, parts);
    assert.not.match(t5.decode(t5.encode(text)), /106|103|11/);
  }
  assert.equal(termsOf("10⁶ is 1½"), termsOf("10^6 is 1 1/2"));
  const span = findAnswerSpan("10^6", "about 10⁶ men")!;
  assert.equal(span, { start: 6, end: 9 });
});

test("tokens beside unknown characters keep their own characters", () => {
  const text = "中国的首都是北京𠀀大学";
  const spans = tokenSpans(bert, text, bert.encode(text));
  const parts = spans
    .map((span) => text.slice(span!.start, span!.end))
    .filter((part) => part !== "");
  assert.equal(parts, ["中", "国", "的", "首", "都", "是", "北", "京", "𠀀", "大", "学"]);
});

test.run();
