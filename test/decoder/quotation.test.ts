/** Quotations against all places of the passages, and their weights against sums by hand. */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  bestPlace,
  type QuotablePassage,
  type QuotableToken,
  startQuotation,
} from "../../src/decoder/quotation.ts";

const END = 1;
const FUSED = 40;

const token = fc.record({
  part: fc.constantFrom(-1, 0),
  begins: fc.boolean(),
  ends: fc.boolean(),
});
const passage = fc
  .array(fc.tuple(fc.integer({ min: 2, max: 4 }), fc.option(token, { nil: undefined })), {
    maxLength: 8,
  })
  .map((tokens) => ({ ids: [...tokens.map(([id]) => id), END], tokens: tokens.map(([, t]) => t) }));
const passages = fc
  .array(passage, { minLength: 1, maxLength: 3 })
  .map((all) => all.map((own, i) => ({ ...own, offset: 2 + 12 * i })));

/** Every place whose tokens are `written`, whether or not it can end. */
const placesOf = (all: readonly QuotablePassage[], written: readonly number[]) =>
  all.flatMap(({ ids, tokens }, passage) =>
    tokens.flatMap((first, i) => {
      const own = written.map((_, t) => tokens[i + t]);
      const isPlace =
        first?.begins && written.every((id, t) => ids[i + t] === id && own[t]?.part === first.part);
      return isPlace ? [{ passage, first: i, last: own.at(-1) as QuotableToken | undefined }] : [];
    }),
  );

const attentionOf = (step: number): Float32Array =>
  Float32Array.from({ length: FUSED }, (_, j) => ((7 * j + 3 * step) % 11) / 60);

test("what may follow and the places that are left are those of all places", () =>
  fc.assert(
    fc.property(passages, fc.array(fc.nat(), { maxLength: 6 }), (all, choices) => {
      const quotation = startQuotation(all, END);
      const written: number[] = [];
      for (const choice of choices) {
        const now = placesOf(all, written);
        const longer = [2, 3, 4].filter((id) => placesOf(all, [...written, id]).length > 0);
        const canEnd = written.length > 0 && now.some(({ last }) => last!.ends);
        const expected = canEnd || longer.length === 0 ? [...longer, END] : longer;
        assert.equal([...quotation.followers()].sort(), expected.sort());
        const next = expected[choice % expected.length]!;
        quotation.write(next, attentionOf(written.length));
        if (next === END) break;
        written.push(next);
      }
      const places = written.length === 0 ? [] : quotation.places();
      for (const { passage, first, end, weight } of places) {
        assert.equal(all[passage]!.ids.slice(first, end), written);
        const offset = all[passage]!.offset + first;
        const sum = written.reduce(
          (s, _, t) => s + Math.log(attentionOf(t)[offset + t]! + 1e-9),
          0,
        );
        assert.ok(Math.abs(weight - sum) < 1e-9);
      }
    }),
  ));

test("of two equal groups, the one that was attended to is quoted", () => {
  const any = { part: 0, begins: true, ends: true };
  const all = [{ ids: [5, 6, 5, END], tokens: [any, any, any], offset: 0 }];
  for (const [attended, first] of [
    [[0.7, 0.1, 0.2], 0],
    [[0.2, 0.1, 0.7], 2],
  ] as const) {
    const quotation = startQuotation(all, END);
    quotation.write(5, Float32Array.from(attended));
    quotation.write(END, new Float32Array(3));
    assert.is(bestPlace(quotation.places())!.first, first);
  }
});

test("a quotation that cannot end where its passage is cut ends there", () => {
  const cut = { part: 0, begins: true, ends: false };
  const quotation = startQuotation([{ ids: [5, END], tokens: [cut], offset: 0 }], END);
  quotation.write(5, Float32Array.of(1));
  assert.equal([...quotation.followers()], [END]);
  assert.is(quotation.places().length, 1);
});

test("an empty passage has nothing to quote", () => {
  const quotation = startQuotation([{ ids: [8, 9, END], tokens: [], offset: 0 }], END);
  assert.equal([...quotation.followers()], [END]);
  assert.equal(quotation.places(), []);
});

test.run();
