/** The splitter, on random documents and on examples. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type SplitOptions, splitDocument } from "../../../src/documents/passages/split.ts";
import type { Block } from "../../../src/documents/tree/document.ts";
import { consecutiveLines } from "../../../src/documents/tree/outline.ts";
import { passageIds } from "../../../src/text/tokens/prompts.ts";
import { tokenizer } from "../support.ts";

const options: SplitOptions = {
  tokenizer,
  maxPassageTokens: 512,
  passageWords: 100,
  overlapWords: 0,
};

const split = (
  texts: readonly string[],
  more: Partial<SplitOptions> = {},
  headings: string[] = [],
) => {
  const blocks: Block[] = texts.map((text) => ({ text, headings }));
  return [...splitDocument({ title: "Title", blocks }, { ...options, ...more })];
};
const plain = (text: string) => text.replace(/\s+/gu, "");
const sentence = (words: number, last = ".") => `Some ${"word ".repeat(words - 2)}end${last}`;

const words = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(
        "the",
        "lion",
        "Dr.",
        "roars.",
        "e.g.",
        "(a",
        "b)",
        "Africa!",
        "7",
        "x\n",
        "\n",
      ),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "中文字符。",
        "<extra_id_3>",
        "ﷺ".repeat(40),
        "a".repeat(300),
        "🦁".repeat(50),
        "é".repeat(90),
      ),
    },
  ),
  { maxLength: 300 },
);
const texts = fc.array(
  words.map((all) => all.join(" ")),
  { maxLength: 6 },
);

test("nothing is lost or repeated, and no passage exceeds the limits", () => {
  fc.assert(
    fc.property(
      texts,
      fc.constantFrom(24, 64, 512),
      fc.integer({ min: 10, max: 120 }),
      fc.constantFrom(0, 5),
      (given, maxPassageTokens, passageWords, overlapWords) => {
        const passages = split(given, { maxPassageTokens, passageWords, overlapWords });
        assert.is(plain(passages.map(({ own }) => own).join("")), plain(given.join("")));
        for (const passage of passages) {
          const length = passageIds(tokenizer, passage, Infinity).length;
          assert.ok(length <= maxPassageTokens, `${length} tokens: ${JSON.stringify(passage)}`);
          assert.ok(passage.text.endsWith(passage.own));
        }
      },
    ),
    { numRuns: Number(process.env.SPLIT_RUNS ?? 150), seed: 21 },
  );
});

test("paragraphs stay whole, and share a passage while they fit", () => {
  const [a, b, c] = [sentence(50), sentence(40), sentence(30)];
  assert.equal(
    split([a, b, c]).map(({ text }) => text),
    [`${a}\n\n${b}`, c],
  );
});

test("a long paragraph is split between sentences, into parts of about equal size", () => {
  const text = Array.from({ length: 11 }, () => sentence(10)).join(" ");
  const lengths = split([text]).map((passage) => passage.text.split(" ").length);
  assert.equal(lengths, [60, 50]);
});

test("a long sentence is split between words; a wrapped line is no sentence end", () => {
  const parts = split([sentence(250)]).map(({ text }) => text.split(" ").length);
  assert.equal(parts, [84, 84, 82]);
  const line = "This line is wrapped because it is long, and so it goes on to\nParis.";
  const wrapped = Array.from({ length: 8 }, () => line).join(" ");
  for (const { text } of split([wrapped])) assert.match(text, /Paris\.$/);
});

test("a passage repeats whole sentences of the one before", () => {
  const sentences = Array.from({ length: 12 }, (_, i) => `Number ${i} ${sentence(13)}`);
  const passages = split([sentences.join(" ")], { passageWords: 60, overlapWords: 20 });
  assert.ok(passages.length > 2);
  for (const [i, { text, own }] of passages.entries()) {
    assert.is(
      text,
      i === 0 ? own : `${passages[i - 1]!.own.match(/Number \d+ [^.]*\.$/)![0]}\n${own}`,
    );
    assert.ok(text.split(/\s/).length <= 60);
  }
});

test("sections are passages of their own, and a long title becomes text", () => {
  const blocks: Block[] = [
    { text: "One.", headings: ["A"], lines: [[0, 1]] },
    {
      text: "Two.\nThree.",
      headings: ["A", "B"],
      lines: [
        [0, 5],
        [5, 6],
      ],
    },
  ];
  const passages = [...splitDocument({ title: "T".repeat(300), blocks }, options)];
  assert.equal(
    passages.map(({ title, text, lines }) => [title, text, lines]),
    [
      ["", "T".repeat(300), undefined],
      ["A", "One.", [1, 1]],
      ["A > B", "Two.\nThree.", [5, 6]],
    ],
  );
});

test("each part of a long text has its own lines", () => {
  const lines = Array.from({ length: 40 }, (_, i) => `Line ${i + 11} has exactly six words.`);
  const text = lines.join("\n");
  const block: Block = { text, headings: [], lines: [...consecutiveLines(text, 11)] };
  for (const { text, lines: range } of splitDocument({ title: "", blocks: [block] }, options)) {
    const numbers = [...text.matchAll(/Line (\d+)/g)].map(([, number]) => Number(number));
    assert.equal(range, [numbers[0], numbers.at(-1)]);
  }
});

test("without a tokenizer, characters bound the tokens", () => {
  const text = sentence(5_000);
  for (const passage of split([text], { tokenizer: undefined, passageWords: 10_000 }))
    assert.ok(passageIds(tokenizer, passage, Infinity).length <= 512);
});

test.run();
