/** The blocks of a passage: by rule from its text, and as the field that a reader leaves. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type BlockKind, KINDS } from "../../src/text/block-kinds.ts";
import { blockField, blocksByRule, blocksOf, type TextBlock } from "../../src/text/blocks.ts";

const shown = (text: string, blocks: readonly TextBlock[]): (readonly [string, string])[] =>
  blocks.map(({ kind, start, end }) => [kind, text.slice(start, end)]);

test("a text without markup shows paragraphs, lists and tables", () => {
  const text = [
    "A paragraph\nof two lines.",
    "The kinds are:\n- first\n  continued\n- second",
    "Item | Price\n--- | ---\nTea | 2 EUR",
    "1. one\n2. two",
    "name: Tea\nprice: 3",
    "He said that\n- so it seems - it rains.",
  ].join("\n\n");
  assert.equal(shown(text, blocksByRule(text)), [
    ["paragraph", "A paragraph\nof two lines."],
    ["paragraph", "The kinds are:"],
    ["list", "- first\n  continued\n- second"],
    ["table", "Item | Price\n--- | ---\nTea | 2 EUR"],
    ["list", "1. one\n2. two"],
    ["list", "name: Tea\nprice: 3"],
    ["paragraph", "He said that\n- so it seems - it rains."],
  ]);
});

const texts = fc
  .array(fc.constantFrom("word", "- item", "a | b", "1. x", "\n", "\n\n", " ", "end:", "é中"))
  .map((parts) => parts.join(""));
const plain = (text: string): string => text.replace(/\s+/gu, "");

test("blocks are in order, do not overlap, and have all characters", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const blocks = blocksByRule(text);
      for (const [i, { start, end }] of blocks.entries()) {
        assert.ok(start >= (blocks[i - 1]?.end ?? 0) && end > start);
        assert.is(text.slice(start, end).trim(), text.slice(start, end));
      }
      assert.is(
        plain(blocks.map(({ start, end }) => text.slice(start, end)).join("")),
        plain(text),
      );
    }),
  );
});

const kinds = Object.keys(KINDS) as BlockKind[];

test("a field keeps the blocks that the text does not show", () => {
  const words = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.constantFrom("a", "b c", "- d:")));
  fc.assert(
    fc.property(words, (pieces) => {
      const text = pieces.map(([, piece]) => piece).join("\n\n");
      let at = 0;
      const blocks = pieces.map(([kind, piece]) => {
        const start = text.indexOf(piece, at);
        at = start + piece.length;
        return { kind, start, end: at };
      });
      assert.equal(blocksOf({ text, metadata: blockField(text, blocks) }), blocks);
    }),
  );
  const block = { kind: "paragraph" as const, start: 0, end: 4 };
  assert.equal(blockField("Text", [block]), {});
  assert.equal(blockField("Text", [{ ...block, kind: "code" }]), { _blocks: "c4" });
});

test("a field of another text counts as none", () => {
  const text = "One.\n\nTwo.";
  for (const _blocks of ["", "p99", "x4 p10", "p4", "p4 p4", "p0 p10", 7])
    assert.equal(blocksOf({ text, metadata: { _blocks } }), blocksByRule(text));
});

test.run();
