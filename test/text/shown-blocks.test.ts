/** Blocks as people read them, with what announces them, and shortened around a weight. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { BlockKind } from "../../src/text/block-kinds.ts";
import { blockField } from "../../src/text/blocks.ts";
import { excerptOf, shownBlocks } from "../../src/text/shown-blocks.ts";
import type { Span } from "../../src/text/span.ts";

/** A passage of blocks. */
function passageOf(...pieces: readonly (readonly [BlockKind, string])[]) {
  const text = pieces.map(([, piece]) => piece).join("\n\n");
  let at = 0;
  const blocks = pieces.map(([kind, piece]) => {
    const start = text.indexOf(piece, at);
    at = start + piece.length;
    return { kind, start, end: at };
  });
  return { text, metadata: blockField(text, blocks) };
}

const textsOf = (passage: ReturnType<typeof passageOf>): string[] =>
  shownBlocks(passage).map(({ start, end }) => passage.text.slice(start, end));

const sentence = (word: string): string => `The ${`${word} `.repeat(18)}ends.`;

test("what announces a block is shown with it", () => {
  const passage = passageOf(
    ["paragraph", "First."],
    ["term", "--fast"],
    ["term", "-f"],
    ["paragraph", "Runs at once."],
    ["paragraph", "Supported are:"],
    ["list", "- tea\n- milk"],
    ["paragraph", "Is it free?"],
    ["paragraph", "It is."],
  );
  assert.equal(textsOf(passage), [
    "First.",
    "--fast\n\n-f\n\nRuns at once.",
    "Supported are:\n\n- tea\n- milk",
    "Is it free?\n\nIt is.",
  ]);
});

test("a long paragraph is shown alone, and its last sentence with the list", () => {
  const long = `${sentence("word")} ${sentence("other")} The kinds are:`;
  const passage = passageOf(["paragraph", long], ["list", "- a\n- b"]);
  assert.equal(textsOf(passage), [long, "The kinds are:\n\n- a\n- b"]);
});

test("a term at the end is shown", () => {
  assert.equal(textsOf(passageOf(["paragraph", "Text."], ["term", "--last"])), ["Text.", "--last"]);
});

/** Weighs the place of a word. */
const on =
  (text: string, word: string) =>
  ({ start, end }: Span): number => {
    const at = text.indexOf(word);
    return at >= start && at < end ? 1 : 0;
  };

test("a long block is shortened to what is around its weight", () => {
  const names = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
  const prose = names.map(sentence).join(" ");
  const passage = passageOf(["paragraph", prose]);
  const { text, span } = excerptOf(prose, shownBlocks(passage)[0]!, on(prose, "five"));
  assert.is(text, prose.slice(span.start, span.end));
  assert.ok(text.includes("five") && text.split(/\s+/).length <= 100);
  assert.ok(text.startsWith("The ") && text.endsWith("ends."));
});

test("a part of a list has its announcing sentence, of a table its head", () => {
  const items = ["one", "two", "three", "four", "five", "six", "seven"].map(
    (word) => `- ${sentence(word)}\n  ${word} continued`,
  );
  const list = passageOf(["paragraph", "There are:"], ["list", items.join("\n")]);
  const shown = excerptOf(list.text, shownBlocks(list)[0]!, on(list.text, "six"));
  assert.match(shown.text, /^There are:\n- The /);
  assert.ok(shown.text.includes("six continued"));
  const part = list.text.slice(shown.span.start, shown.span.end);
  assert.is(shown.text.slice(shown.offset), part);

  const rows = Array.from({ length: 60 }, (_, i) => `row ${i} | ${i * i}`);
  const table = passageOf(["table", ["name | square", "--- | ---", ...rows].join("\n")]);
  const found = excerptOf(table.text, shownBlocks(table)[0]!, on(table.text, "row 40 "));
  assert.match(found.text, /^name \| square\n--- \| ---\nrow /);
  assert.ok(found.text.includes("row 40 | 1600"));
});

test.run();
