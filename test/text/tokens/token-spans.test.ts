/** The characters of tokens: words by hand, and any text. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { tokenSpans } from "../../../src/text/tokens/token-spans.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";

const tokenizer = await loadTokenizer("test/fixtures/t5/spiece.model");

const partsOf = (text: string): string[] => {
  const ids = tokenizer.encode(text);
  return tokenSpans(tokenizer, text, ids).map((span) => text.slice(span!.start, span!.end));
};

test("each token has its characters", () => {
  const text = "James Watt patented a steam-engine (1781).";
  const ids = tokenizer.encode(text);
  assert.equal(
    partsOf(text),
    ids.map((id) => tokenizer.decode([id])),
  );
  assert.is(partsOf(text).join(""), text.replace(/ /g, ""));
});

test("normalised characters have the characters that they come from", () => {
  assert.equal(partsOf("a  ﬁne m²").join(""), "aﬁne m²".replace(" ", ""));
  assert.ok(partsOf("cafe\u0301 x").join("").includes("e\u0301"));
});

test("tokens of a word that has an unknown character have the whole word", () => {
  const parts = partsOf("the 中文 book");
  assert.is(parts[0], "the");
  assert.ok(parts.slice(1, -1).every((part) => part === "中文" || part === ""));
  assert.is(parts.at(-1), "book");
});

test("tokens beyond those of the text have none", () => {
  const text = "one two three";
  const ids = tokenizer.encode(text);
  assert.is(tokenSpans(tokenizer, text, [...ids, tokenizer.eosId]).at(-1), undefined);
  assert.is(tokenSpans(tokenizer, text, ids.slice(0, 2)).length, 2);
});

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .array(
      fc.constantFrom("steam", "é", "ﬁ", " ", "  ", "\n", "中", "1781", "<extra_id_3>", "(", "-"),
    )
    .map((parts) => parts.join("")),
);

test("spans are inside the text, not empty beyond white space, and in order", () =>
  fc.assert(
    fc.property(texts, (text) => {
      const ids = tokenizer.encode(text);
      const spans = tokenSpans(tokenizer, text, ids);
      assert.is(spans.length, ids.length);
      let last = 0;
      for (const span of spans) {
        if (!span) continue;
        assert.ok(span.start >= last || span.end >= last, JSON.stringify(spans));
        assert.ok(0 <= span.start && span.start <= span.end && span.end <= text.length);
        last = span.start;
      }
    }),
    { numRuns: 500 },
  ));

test.run();
