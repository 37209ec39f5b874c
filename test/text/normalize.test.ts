import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { findAnswerSpan } from "../../src/text/answer-span.ts";
import { normalizeText } from "../../src/text/normalize.ts";
import { assertLinear } from "../support/linear-time.ts";

test("texts without hundreds of marks in sequence are normalised by the standard", () => {
  const part = fc.oneof(fc.constantFrom("e\u0301\u0323", "ᄀ", "ᅡ", "ﬁ", "\u0308"), fc.string());
  fc.assert(
    fc.property(
      fc.array(part).map((parts) => parts.join("")),
      (text) => {
        for (const form of ["NFC", "NFD", "NFKC", "NFKD"] as const)
          assert.is(normalizeText(text, form), text.normalize(form));
      },
    ),
  );
});

test("the time is linear in the number of marks", async () => {
  await assertLinear((size) => {
    const text = `e${"\u0301".repeat(size)}${"\u0323".repeat(size)} cafe\u0301`;
    assert.ok(normalizeText(text, "NFC").endsWith(" café"));
    assert.is(normalizeText(text, "NFD").length, text.length);
    assert.equal(findAnswerSpan("Café", text), { start: text.length - 5, end: text.length });
  }, 20_000);
});

test.run();
