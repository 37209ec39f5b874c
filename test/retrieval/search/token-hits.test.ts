import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { scoreByHits } from "../../../src/retrieval/search/token-hits.ts";
import { encodeText, makePassages, naiveSearch } from "../support.ts";

const hits = (...pairs: readonly (readonly [ordinal: number, score: number])[]) => ({
  ordinals: Uint32Array.from(pairs, ([ordinal]) => ordinal),
  scores: Float32Array.from(pairs, ([, score]) => score),
});

test("a missing product counts as the last product that was returned", () => {
  const { seen, unseen } = scoreByHits([hits([4, 10], [4, 9], [7, 6]), hits([7, 3], [2, 1])]);
  assert.is(unseen, (6 + 1) / 2);
  assert.equal(seen, {
    ordinals: Uint32Array.of(4, 7, 2),
    scores: Float64Array.of((10 + 1) / 2, (6 + 3) / 2, (6 + 1) / 2),
  });
});

test("a question token without hits does not change the order", () => {
  assert.equal([...scoreByHits([hits(), hits([1, 5], [0, 4])]).seen.ordinals], [1, 0]);
});

test("with exact hits the estimates are upper bounds", () => {
  const passages = makePassages(60).map(({ text }) => encodeText(text));
  const tokens = passages.flatMap((keys, ordinal) =>
    Array.from({ length: keys.length / 8 }, (_, t) => ({
      ordinal,
      key: keys.subarray(8 * t, 8 * t + 8),
    })),
  );
  const nearest = (query: Float32Array, count: number) => {
    const scored = tokens.map(({ ordinal, key }) => [
      ordinal,
      key.reduce((s, k, d) => s + k * query[d]!, 0),
    ]);
    return hits(...(scored as [number, number][]).sort((a, b) => b[1] - a[1]).slice(0, count));
  };
  fc.assert(
    fc.property(
      fc.array(fc.nat(80), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 300 }),
      (w, k) => {
        const question = encodeText(w.map((word) => `w${word}`).join(" "));
        const { seen, unseen } = scoreByHits(
          w.map((_, i) => nearest(question.subarray(8 * i, 8 * i + 8), k)),
        );
        const bounds = new Map(
          Array.from(seen.ordinals, (ordinal, i) => [ordinal, seen.scores[i]!]),
        );
        for (const { ordinal, score } of naiveSearch(question, passages, passages.length))
          assert.ok(score <= (bounds.get(ordinal) ?? unseen) + 1e-9);
      },
    ),
    { numRuns: 30 },
  );
});

test.run();
