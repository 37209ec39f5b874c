/** Long texts: the ids are those of the whole visible text, and the time is linear. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { SentencePieceProcessor } from "sentencepiece-js";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { beginningOf, textParts } from "../../../src/text/tokens/text-parts.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { assertLinear } from "../../support/linear-time.ts";
import { SHARED, testWithShared } from "../../support/shared.ts";

const FILE = "test/fixtures/t5/spiece.model";
const tokenizer = await loadTokenizer(FILE);
const processor = new SentencePieceProcessor();
await processor.load(FILE);

/** Invisible characters: Default_Ignorable_Code_Point and Cf of Unicode 15, as first-last. */
const INVISIBLE = (
  "ad 34f 600-605 61c 6dd 70f 890-891 8e2 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e " +
  "2060-206f 3164 fe00-fe0f feff ffa0 fff0-fffb 110bd 110cd 13430-1343f 1bca0-1bca3 " +
  "1d173-1d17a e0000-e0fff"
)
  .split(" ")
  .map((range) => range.split("-").map((code) => Number.parseInt(code, 16)));
const isInvisible = (code: number): boolean =>
  INVISIBLE.some(([first, last = first]) => code >= first! && code <= last!);
const isControl = (code: number): boolean => code < 0x20 || (code >= 0x7f && code < 0xa0);

/** The text that a reader sees: src/text/normal-form.ts by the numbers of its characters. */
function seen(text: string): string {
  const characters: string[] = [];
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (code >= 9 && code <= 13)
      characters.push(" "); // tab, line feed, form feed and the like
    else if (!isInvisible(code) && !isControl(code))
      characters.push(gap(characters.at(-1) ?? "", character), character);
  }
  return characters.join("");
}

/** What keeps a number apart from the one before it: 10² is not 102, and ½½ not 1/21/2. */
function gap(before: string, after: string): string {
  if (/^\p{Nd}$/u.test(before) && "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻".includes(after)) return "^";
  if (!isNumber(before) || !isNumber(after)) return "";
  const ofOneNumber = [/^\p{Nd}+$/u, /^[⁰¹²³⁴⁵⁶⁷⁸⁹]+$/, /^[₀₁₂₃₄₅₆₇₈₉]+$/];
  if (ofOneNumber.some((run) => run.test(before + after))) return "";
  const isKept = [before, after].every((number) => number.normalize("NFKD") === number);
  return isKept && /^\p{No}+$/u.test(before + after) ? "" : " ";
}

/** A digit, another number, or what NFKD begins or ends with a digit: ㎡, ㏠. */
const isNumber = (character: string): boolean =>
  /^[\p{Nd}\p{No}]$/u.test(character) || /^\d|\d$/.test(character.normalize("NFKD"));

/** The ids of SentencePiece for the whole visible text at once. */
const wholeIds = (text: string): number[] => processor.encodeIds(seen(text));

/** Compares the ids of a text, of its beginning and with limits. */
function check(text: string, length: number, limit: number): void {
  const ids = wholeIds(text);
  assert.equal(tokenizer.encode(text), ids);
  assert.equal(tokenizer.encode(text, limit), ids.slice(0, limit));
  const beginning = beginningOf(text, length);
  const first = wholeIds(beginning);
  assert.equal(first, ids.slice(0, first.length));
}

const word = fc.oneof(
  fc.constantFrom("a", "The", "7", "é", "e\u0301", "中文", "\ufb01", "²", "½", "₂", "㏠", "\u00a8"),
  fc.constantFrom(
    "\u0301",
    "\u0308",
    "\u00ad",
    "\u200b",
    "\u0000",
    "ﷺ",
    "각",
    "가",
    "ᄀ",
    "ᅡ",
    "ᆨ",
    "ｶﾞ",
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const separator = fc.constantFrom(" ", " ", "  ", "\n", "\u00a0", "\u3000", "");

test("no character but invisible ones changes the ids of SentencePiece", () => {
  for (const plain of ["The light house, 1,000 m² (café) – “ﬁne”.", "a\tb\nc  d\u00a0e\u3000f"])
    assert.equal(tokenizer.encode(plain), processor.encodeIds(plain));
  for (let code = 0x20; code < 0x30000; code++) {
    const isSurrogate = code >= 0xd800 && code < 0xe000;
    if (isSurrogate || isControl(code) || isInvisible(code)) continue;
    const text = `a${String.fromCodePoint(code)}b`;
    assert.equal(tokenizer.encode(text), processor.encodeIds(text), code.toString(16));
  }
});

test("any text has the ids of SentencePiece, whole, cut and limited", () => {
  const text = fc.array(fc.tuple(word, separator), { maxLength: 20 }).map((words) =>
    words
      .flat()
      .join("")
      .replace(/\p{Surrogate}/gu, ""),
  );
  fc.assert(
    fc.property(text, fc.nat(60), fc.nat(12), (value, length, limit) => {
      check(value.replace(/<extra_id_\d+>/g, ""), length, limit);
    }),
    { numRuns: 1_000 },
  );
});

test("a run of unknown characters is one token, whatever is in it and beside it", () => {
  const unknown = fc.constantFrom("中", "{", "\u0331", "😀", "각", "ᄀ", "ᅡ", "\ue000", "中\u0001");
  const run = fc.tuple(
    fc.array(unknown, { minLength: 1, maxLength: 5 }),
    fc.integer({ min: 1, max: 120 }),
  );
  fc.assert(
    fc.property(word, run, word, run, (before, first, between, second) => {
      const [a, b] = [first, second].map(([characters, n]) => characters.join("").repeat(n));
      check(`${before}${a}${between}${b} end`.replace(/\p{Surrogate}/gu, ""), 40, 3);
    }),
    { numRuns: 300 },
  );
});

function paragraphsOf(jsonLines: string): string[] {
  const records = jsonLines.split("\n").filter(Boolean);
  return records.flatMap((line) => String(JSON.parse(line).text).split("\n"));
}

test("the paragraphs of SQuAD have the ids of SentencePiece", () => {
  for (const text of paragraphsOf(readFileSync("data/squad/corpus.jsonl", "utf8")))
    check(text, text.length / 2, 50);
});

testWithShared("paragraphs of Wikipedia have the ids of SentencePiece", () => {
  const articles = gunzipSync(readFileSync(`${SHARED}/data/wiki/articles.jsonl.gz`));
  for (const text of paragraphsOf(articles.subarray(0, 2_000_000).toString().replace(/\n.*$/, "")))
    check(text, text.length / 2, 50);
});

test("parts contain the whole text and end at spaces", () => {
  const text = "word ".repeat(50_000);
  const parts = [...textParts(text)];
  assert.is(parts.join(""), text);
  assert.is(parts.length, 4);
  assert.ok(parts.slice(1).every((part) => part.startsWith(" word")));
  assert.equal(tokenizer.encode(text).length, 50_000);
  assert.equal([...textParts("")], []);
});

test("the time is linear in the length of a text, and a limit bounds it", async () => {
  for (const unit of ["\u0301", "{", "中\u0001", "a", "😀", " ", "<extra_id_1>", "ab "])
    await assertLinear((size) => tokenizer.encode(unit.repeat(size / unit.length)), 48_000, unit);
  const limited = (size: number): number => {
    const book = "It was a dark night. ".repeat(size);
    const start = process.cpuUsage();
    assert.is(tokenizer.encode(book, 512).length, 512);
    return process.cpuUsage(start).user;
  };
  limited(1_000);
  assert.ok(limited(1_000_000) < 100 * Math.max(2_000, limited(1_000)));
});

test.run();
