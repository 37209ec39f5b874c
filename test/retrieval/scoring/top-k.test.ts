import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type Ranking, ranked, TopK, topPositions } from "../../../src/retrieval/scoring/top-k.ts";

const pairs = ({ ordinals, scores }: Ranking) =>
  Array.from(ordinals, (ordinal, i) => ({ ordinal, score: scores[i]! }));

test("the best of a stream are those of a sorted list, with all within the margin", () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -20, max: 20 }), { maxLength: 400 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 3 }),
      (scores, count, margin) => {
        const best = new TopK(count, margin);
        for (const [ordinal, score] of scores.entries()) best.push(ordinal, score);
        const sorted = scores
          .map((score, ordinal) => ({ ordinal, score }))
          .sort((a, b) => b.score - a.score || a.ordinal - b.ordinal);
        const floor = (sorted[count - 1]?.score ?? -Infinity) - margin;
        const expected = sorted.filter(({ score }) => score >= floor);
        assert.equal(pairs(best.take()), expected);
        assert.equal(pairs(best.take(2)), expected.slice(0, 2));
        const given = {
          ordinals: Uint32Array.from(scores.keys()).reverse(),
          scores: Float64Array.from(scores).reverse(),
        };
        assert.equal(pairs(ranked(given)), sorted);
        assert.equal(pairs(ranked(given, count)), sorted.slice(0, count));
      },
    ),
  ));

test("the positions of the greatest values, greatest first, equal ones in order", () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 300 }),
      fc.integer({ min: 1, max: 20 }),
      (values, count) => {
        const sorted = [...values.keys()].sort((a, b) => values[b]! - values[a]! || a - b);
        assert.equal(topPositions(Float32Array.from(values), count), sorted.slice(0, count));
      },
    ),
  ));

test.run();
