/** What is written together stays together: terms, announced lists, questions, notes, captions. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type SplitOptions, splitDocument } from "../../../src/documents/passages/split.ts";
import type { Block } from "../../../src/documents/tree/document.ts";
import { passageIds } from "../../../src/text/tokens/prompts.ts";
import { readOne, tokenizer } from "../support.ts";

const options: SplitOptions = {
  tokenizer,
  maxPassageTokens: 512,
  passageWords: 100,
  overlapWords: 0,
};
const words = (count: number, last = "."): string => `Some ${"word ".repeat(count - 2)}end${last}`;
const split = (blocks: readonly Omit<Block, "headings">[], more: Partial<SplitOptions> = {}) => {
  const all = blocks.map((block) => ({ headings: [], ...block }));
  return [...splitDocument({ title: "T", blocks: all }, { ...options, ...more })];
};
const textsOf = (blocks: readonly Omit<Block, "headings">[]): string[] =>
  split(blocks).map(({ text }) => text);

test("a term begins the passage of its definition", () => {
  const [before, term, definition] = [words(60), "autovacuum_naptime (integer)", words(50)];
  assert.equal(textsOf([{ text: before }, { text: term, kind: "term" }, { text: definition }]), [
    before,
    `${term}\n\n${definition}`,
  ]);
});

test("the last sentence of a paragraph goes with the list that it announces", () => {
  const list = Array.from({ length: 6 }, (_, i) => `- ${words(10, String(i))}`).join("\n");
  const blocks = [
    { text: `${words(60)} The main differences are:` },
    { text: list, kind: "list" as const },
  ];
  assert.equal(textsOf(blocks), [words(60), `The main differences are:\n\n${list}`]);
});

test("each part of a long list or definition repeats what announces it", () => {
  const items = Array.from({ length: 20 }, (_, i) => `- ${words(10, String(i))}`);
  const parts = textsOf([{ text: "Supported are:" }, { text: items.join("\n"), kind: "list" }]);
  assert.ok(parts.length > 1);
  for (const text of parts) assert.match(text, /^Supported are:\n/);
  const definition = Array.from({ length: 30 }, () => words(10)).join(" ");
  const defined = textsOf([{ text: "--fast", kind: "term" }, { text: definition }]);
  for (const text of defined) assert.match(text, /^--fast\n/);
});

test("a definition that fits is not divided, and each part of a longer one repeats its term", () => {
  const term = { text: "--slow", kind: "term" as const };
  const parts = (...counts: number[]) =>
    counts.map((count) => ({ text: words(count), term: "--slow" }));
  const before = words(40);
  assert.equal(textsOf([{ text: before }, term, ...parts(30, 35)]), [
    before,
    `--slow\n\n${words(30)}\n\n${words(35)}`,
  ]);
  const long = textsOf([{ text: before }, term, ...parts(60, 70, 80), { text: words(90) }]);
  assert.is(long.filter((text) => text.includes("--slow")).length, 3);
  assert.is(long.at(-1), words(90));
});

test("a question goes with its answer", () => {
  const [before, question, answer] = [words(80), "Can I pay later?", words(60)];
  assert.equal(textsOf([{ text: before }, { text: question }, { text: answer }]), [
    before,
    `${question}\n\n${answer}`,
  ]);
});

test("a title says no words twice", () => {
  const titleOf = (...headings: string[]) =>
    [...splitDocument({ title: "COPY", blocks: [{ text: "x", headings }] }, options)][0]!.title;
  assert.is(titleOf("COPY"), "COPY");
  assert.is(titleOf("The command COPY"), "The command COPY");
  assert.is(titleOf("File Formats", "Formats of a File"), "COPY > Formats of a File");
});

test("HTML: definitions of several blocks, captions, and notes that open no section", async () => {
  const { passages } = await readOne(
    "a.html",
    `<h1>Copy</h1><dl><dt>FORMAT</dt><dd><p>${words(60)}</p><p>${words(20)}</p></dd>` +
      `<dt>FREEZE</dt><dd><p>${words(70)}</p><p>${words(20)}</p></dd></dl>` +
      `<div class="note"><h3>Note</h3><p>Be careful.</p></div><p>${words(60)}</p>` +
      "<table><caption>Prices</caption><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>",
  );
  const starts = passages.map(({ text }) => text.split("\n")[0]);
  assert.equal(starts.slice(0, 2), ["FORMAT", "FREEZE"]);
  assert.ok(passages.every(({ title }) => title === "Copy"));
  const all = passages.map(({ text }) => text).join("\n\n");
  assert.ok(all.includes("Note\n\nBe careful."));
  assert.ok(all.includes("Prices\n\na | b"));
});

type GivenBlock = Omit<Block, "headings">;

const block = fc.oneof(
  fc.record({ text: fc.constantFrom("--fast", "A term"), kind: fc.constant("term" as const) }),
  fc.record({ text: fc.integer({ min: 2, max: 150 }).map((count) => words(count)) }),
  fc.record({ text: fc.integer({ min: 2, max: 90 }).map((count) => words(count, ":")) }),
  fc.record({
    text: fc.integer({ min: 2, max: 90 }).map((count) => words(count)),
    term: fc.constantFrom("--fast", "A term"),
  }),
  fc.record({ text: fc.constantFrom("Note", "Warning"), kind: fc.constant("note" as const) }),
  fc.record({ text: fc.constant("Table 1"), kind: fc.constant("caption" as const) }),
  fc.record({
    text: fc.integer({ min: 2, max: 90 }).map((count) => `x = 1\n\n${words(count)}`),
    kind: fc.constant("code" as const),
  }),
  fc.record({
    text: fc.integer({ min: 1, max: 30 }).map((rows) => `a | b\n${"1 | 2\n".repeat(rows)}3 | 4`),
    kind: fc.constant("table" as const),
  }),
  fc.record({
    text: fc
      .array(
        fc.integer({ min: 2, max: 20 }).map((count) => `- ${words(count)}`),
        { minLength: 1 },
      )
      .map((items) => items.join("\n")),
    kind: fc.constant("list" as const),
  }),
);

test("nothing is lost or doubled, limits hold, and nothing that announces ends a passage", () => {
  fc.assert(
    fc.property(
      fc.array(block, { maxLength: 12 }),
      fc.constantFrom(48, 512),
      (given, maxPassageTokens) => {
        const passages = split(given, { maxPassageTokens });
        const plain = (text: string) => text.replace(/\s+/gu, "");
        const own = passages.map((passage) => passage.own);
        assert.is(plain(own.join("")), plain(given.map(({ text }) => text).join("")));
        for (const [i, passage] of passages.entries()) {
          assert.ok(passageIds(tokenizer, passage, Infinity).length <= maxPassageTokens);
          const texts = passage.blocks.map(({ start, end }) => passage.text.slice(start, end));
          assert.is(plain(texts.join("")), plain(passage.text));
          for (const [at, { kind }] of passage.blocks.entries()) {
            const ofKind = given.flatMap(({ kind: own = "paragraph", text, term }: GivenBlock) => [
              ...(own === kind ? [text] : []),
              ...(kind === "term" && term !== undefined ? [term] : []),
            ]);
            assert.ok(ofKind.some((text) => plain(text).includes(plain(texts[at]!))));
          }
          // A term or a sentence that is longer than half of a passage can stand alone.
          const isLast = i === passages.length - 1;
          if (maxPassageTokens === 512 && !isLast)
            assert.not.match(passage.own, /(?:--fast|term)$/);
        }
      },
    ),
    { numRuns: 150, seed: 7 },
  );
});

test.run();
