import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../src/errors.ts";
import type { ScoredId } from "../../src/retrieval/bm25/bm25.ts";
import { interpolate, missingFrom, tuneLambda } from "../../src/retrieval/interpolation.ts";

const list = (scores: Record<string, number>): ScoredId[] =>
  Object.entries(scores).map(([id, score]) => ({ id, score }));

test("an example worked by hand", () => {
  const lexical = list({ a: 12, b: 10, c: 6 });
  const dense = list({ c: 4, d: 3, a: 1 });
  // b lacks a dense score: 1; d lacks a lexical score: 6. lambda 2: a 12 + 2, b 10 + 2, c 6 + 8, d 6 + 6.
  assert.equal(interpolate({ lexical, dense }, 2), list({ a: 14, c: 14, b: 12, d: 12 }));
  assert.equal(missingFrom(lexical, dense), ["d"]);
  assert.equal(missingFrom(dense, lexical), ["b"]);
  // Scored exactly, d has 0.5: 0.5 + 2 * 3.
  const scored = [...lexical, { id: "d", score: 0.5 }];
  assert.equal(interpolate({ lexical: scored, dense }, 2), list({ a: 14, c: 14, b: 12, d: 6.5 }));
});

test("an empty list changes nothing, and lambda 0 leaves the lexical ranking", () => {
  const scores = list({ a: 3, b: 2, c: -1 });
  assert.equal(interpolate({ lexical: scores, dense: [] }, 5), scores);
  assert.equal(interpolate({ lexical: [], dense: scores }, 2), list({ a: 6, b: 4, c: -2 }));
  assert.equal(interpolate({ lexical: scores, dense: list({ c: 9, a: 1 }) }, 0), scores);
  assert.equal(interpolate({ lexical: [], dense: [] }, 1), []);
});

test("ranks every passage of both lists once, by the formula", () => {
  const scored = fc.uniqueArray(
    fc.record({ id: fc.constantFrom(..."abcdefgh"), score: fc.integer({ min: -20, max: 20 }) }),
    { selector: ({ id }) => id },
  );
  fc.assert(
    fc.property(scored, scored, fc.integer({ min: 0, max: 5 }), (lexical, dense, lambda) => {
      const ranking = interpolate({ lexical, dense }, lambda);
      assert.equal(
        ranking.map(({ id }) => id).sort(),
        [...new Set([...lexical, ...dense].map(({ id }) => id))].sort(),
      );
      const scoreIn = (entries: readonly ScoredId[], id: string) =>
        entries.find((entry) => entry.id === id)?.score ??
        (entries.length > 0 ? Math.min(...entries.map(({ score }) => score)) : 0);
      ranking.forEach(({ id, score }, rank) => {
        assert.is(score + 0, scoreIn(lexical, id) + lambda * scoreIn(dense, id) + 0);
        if (rank > 0) assert.ok(ranking[rank - 1]!.score >= score);
      });
    }),
  );
});

/** 1 where the relevant passage is first. */
const hit = (ranking: readonly ScoredId[], { relevant }: { relevant: string }) =>
  ranking[0]?.id === relevant ? 1 : 0;

test("finds the lambda that ranks a development set best", () => {
  // The first question needs 10 + lambda < 8 + 4 lambda, lambda > 2/3; the second 9 + lambda > 5 + 2 lambda, lambda < 4.
  const questions = [
    { lexical: list({ x: 10, y: 8 }), dense: list({ x: 1, y: 4 }), relevant: "y" },
    { lexical: list({ x: 9, y: 5 }), dense: list({ x: 1, y: 2 }), relevant: "x" },
  ];
  const { lambda, value, tried } = tuneLambda(questions, hit, [5, 0, 0.5, 1, 2, 3]);
  assert.equal({ lambda, value }, { lambda: 2, value: 1 });
  assert.equal(tried, [
    { lambda: 0, value: 0.5 },
    { lambda: 0.5, value: 0.5 },
    { lambda: 1, value: 1 },
    { lambda: 2, value: 1 },
    { lambda: 3, value: 1 },
    { lambda: 5, value: 0.5 },
  ]);
  // Spreads 2 + 4 and 3 + 1: the unit is 6 / 4, which is itself between the two bounds.
  const tuned = tuneLambda(questions, hit);
  assert.is(tuned.value, 1);
  assert.ok(tuned.lambda > 2 / 3 && tuned.lambda < 4);
  assert.is(tuned.tried.length, 22);
  assert.ok(tuned.tried.some((trial) => trial.lambda === 1.5));
});

test("the scale of the dense scores does not matter to what is found", () => {
  const questions = (scale: number) => [
    { lexical: list({ x: 10, y: 8 }), dense: list({ x: 1 * scale, y: 4 * scale }), relevant: "y" },
  ];
  const [small, large] = [1e-3, 1e3].map((scale) => tuneLambda(questions(scale), hit));
  assert.ok(Math.abs(small!.lambda / large!.lambda / 1e6 - 1) < 1e-9);
  assert.is(tuneLambda([{ lexical: [], dense: [], relevant: "" }], hit).value, 0);
});

test("without labelled questions there is nothing to tune", () => {
  assert.throws(
    () => tuneLambda([], hit),
    (error: Error) => error instanceof InputError,
  );
});

test.run();
