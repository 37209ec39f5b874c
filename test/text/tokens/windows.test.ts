/** Windows of long passages: what they cover, how long they are, and where they begin. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { passagePrompt } from "../../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { windowsOf } from "../../../src/text/tokens/windows.ts";

const tokenizer = await loadTokenizer("models/reatt-mini/spiece.model");
const lengthOf = (passage: { title: string; text: string }): number =>
  tokenizer.encode(passagePrompt(passage)).length + 1;

const SENTENCES = Array.from({ length: 60 }, (_, i) => `Sentence ${i} is about a river and a sea.`);
const LONG = { title: "Rivers", text: SENTENCES.join(" ") };

test("a passage within the limit is one window", () => {
  const limit = lengthOf(LONG);
  assert.equal(windowsOf(tokenizer, LONG, limit), [{ ...LONG, start: 0 }]);
  assert.ok(windowsOf(tokenizer, LONG, limit - 1).length > 1);
});

test("a long title without a text is one window", () => {
  for (const text of ["", " \n "]) {
    const passage = { title: "A title of many words ".repeat(20), text };
    assert.equal(windowsOf(tokenizer, passage, 32), [{ ...passage, start: 0 }]);
  }
});

test("windows have whole sentences; the last one of a window begins the next", () => {
  const windows = windowsOf(tokenizer, LONG, 128);
  for (const [i, { title, text, start }] of windows.entries()) {
    assert.is(title, LONG.title);
    assert.is(LONG.text.slice(start, start + text.length), text);
    assert.match(text, /^Sentence \d+ .*sea\.$/);
    const before = windows[i - 1];
    if (before) assert.ok(text.startsWith(before.text.slice(before.text.lastIndexOf("Sentence"))));
  }
  assert.ok(windows.at(-1)!.text.endsWith(SENTENCES.at(-1)!));
});

test("every character stands in a window that is short enough, whatever the text", () => {
  const texts = fc.array(
    fc.oneof(
      fc.constantFrom("A word. ", "中国的首都是北京。", "𠀀𠀀𠀀 ", "x".repeat(300), "\n\n", "10⁶ "),
      fc.string({ unit: "grapheme", maxLength: 40 }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(texts, fc.integer({ min: 32, max: 90 }), (parts, limit) => {
      const passage = { title: "Of a title ".repeat(parts.length), text: parts.join("") };
      const windows = windowsOf(tokenizer, passage, limit);
      const covered = new Uint8Array(passage.text.length);
      for (const { title, text, start } of windows) {
        assert.ok(passage.title.startsWith(title));
        assert.is(passage.text.slice(start, start + text.length), text);
        covered.fill(1, start, start + text.length);
        // Two halves of a word can have a token more than the word
        assert.ok(lengthOf({ title, text }) <= limit + 2, `${lengthOf({ title, text })}`);
      }
      for (const [i, is] of covered.entries()) assert.ok(is || /\s/.test(passage.text[i]!));
    }),
    { numRuns: 100 },
  );
});

test.run();
