import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { findAnswerSpan } from "../../src/text/answer-span.ts";
import { assertLinear } from "../support/linear-time.ts";

/** The answer as written in the passage. */
function found(answer: string, text: string): string | undefined {
  const span = findAnswerSpan(answer, text);
  return span && text.slice(span.start, span.end);
}

test("an exact match has priority, then the first match", () => {
  assert.equal(findAnswerSpan("may", "In May, in may and in may."), { start: 11, end: 14 });
  assert.equal(findAnswerSpan("MAY", "In May, in may."), { start: 3, end: 6 });
});

test("an answer is found regardless of case, spacing and Unicode form", () => {
  assert.is(found("café", "A CAFE\u0301 there"), "CAFE\u0301");
  assert.is(found("U.S.", "the U. S. army"), "U. S.");
  assert.is(found("new york", "in New\n\tYork."), "New\n\tYork");
  assert.is(found("five", "after ﬁve years"), "ﬁve");
  assert.is(found("full", "so ｆｕｌｌ of"), "ｆｕｌｌ");
  assert.is(found("Σ", "ΟΔΟΣ 😀 Σ"), "Σ");
});

test("accents can be ignored", () => {
  assert.is(findAnswerSpan("cafe", "the Café"), undefined);
  assert.equal(findAnswerSpan("cafe", "the Café", { accents: false }), { start: 4, end: 8 });
  assert.equal(findAnswerSpan("cafe no", "CAFE\u0301 No", { accents: false }), {
    start: 0,
    end: 8,
  });
});

test("an answer is not found inside a word or in a text without it", () => {
  assert.is(found("on", "London"), undefined);
  assert.is(found("19", "in 1998"), undefined);
  assert.is(found("a b", "a c b"), undefined);
  assert.is(found("", "text"), undefined);
  assert.is(found("  ", "text  "), undefined);
});

test("any sequence of a text's tokens is found, at its position or earlier", () => {
  const words = fc.array(
    fc.constantFrom("a", "B", "é", "e\u0301", "½", "ﬁ", "가", "😀", ".", "≠", "x\u0327y"),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(words, fc.nat(), fc.nat(), (parts, first, length) => {
      const from = first % parts.length;
      const answer = parts.slice(from, from + 1 + (length % (parts.length - from))).join(" ");
      const text = parts.join(" ");
      const span = findAnswerSpan(answer, text)!;
      assert.ok(span.start <= parts.slice(0, from).join(" ").length + 1);
      assert.is(text.slice(span.start, span.end), answer);
    }),
  );
});

test("the time is linear in a repetitive text and answer", async () => {
  const find = (size: number) => findAnswerSpan(`${"a ".repeat(size)}b`, "a ".repeat(2 * size));
  await assertLinear((size) => assert.is(find(size), undefined), 20_000);
});

test.run();
