import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../src/retrieval/bm25/bm25.ts";
import { combineScores, hybridScores, hybridSearch } from "../../src/retrieval/hybrid.ts";
import type { LexicalIndex } from "../../src/retrieval/lexical-index.ts";
import { ranked } from "../../src/retrieval/scoring/top-k.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import { termsOf } from "../../src/text/terms.ts";
import { NAMES, ordinal, ranking, union } from "../support/hybrid-scores.ts";

test("an example worked by hand", async () => {
  const lists = { lexical: ranking({ a: 12, b: 10, c: 6 }), dense: ranking({ c: 4, d: 3, a: 1 }) };
  const question = { text: "what?", vectors: Float32Array.of(1, 2) };
  const index = {
    async scores(vectors: Float32Array, ordinals: Uint32Array) {
      assert.is(vectors, question.vectors);
      assert.equal([...ordinals], [ordinal("b")]);
      return Float64Array.of(-2);
    },
  };
  const bm25 = {
    analyser: { languages: [], terms: termsOf },
    score(text: string, ordinals: ArrayLike<number>) {
      assert.equal([text, ...Array.from(ordinals)], ["what?", ordinal("d")]);
      return Float64Array.of(0.5);
    },
  };
  const found = await hybridScores(index, bm25, question, lists);
  assert.equal(found, union({ a: [12, 1], b: [10, -2], c: [6, 4], d: [0.5, 3] }));
  assert.equal(combineScores(found, 2), ranking({ a: 14, c: 14, d: 6.5, b: 6 }));
  assert.equal(combineScores(found, 0), ranking({ a: 12, b: 10, c: 6, d: 0.5 }));
  assert.equal(combineScores(found, 0, 2), ranking({ a: 12, b: 10 }));
});

test("a union can have more passages than a call can have arguments", async () => {
  const count = 200_000;
  const ordinals = Uint32Array.from({ length: count }, (_, i) => i);
  const all = { ordinals, scores: Float64Array.from(ordinals) };
  const index = { scores: async () => new Float64Array() };
  const bm25 = {
    analyser: { languages: [], terms: termsOf },
    score: () => Float64Array.of(0.5),
  };
  const dense = { ordinals: ordinals.map((i) => i + 1), scores: all.scores };
  const lists = {
    lexical: { ordinals: ordinals.subarray(1), scores: all.scores.subarray(1) },
    dense,
  };
  const question = { text: "what?", vectors: Float32Array.of(1) };
  const found = await hybridScores(index, bm25, question, lists);
  assert.equal(
    [found.ordinals.length, found.ordinals.at(-1), found.lexical.at(-1)],
    [count, count, 0.5],
  );
});

/**
 * An index and a BM25 of given scores. `requests` has what the index looked for: hits, and the
 * number of questions.
 */
function withScores(lexical: readonly number[], dense: readonly number[], findsFewFaster: boolean) {
  const best = (scores: readonly number[], count: number) =>
    ranked({ ordinals: Uint32Array.from(scores.keys()), scores: Float64Array.from(scores) }, count);
  const at = (scores: readonly number[], ordinals: Uint32Array) =>
    Float64Array.from(ordinals, (ordinal) => scores[ordinal]!);
  const requests: [hits: number, questions: number][] = [];
  const index: Pick<IndexGeneration, "findsFewFaster" | "rankingsAlso" | "words" | "scores"> = {
    findsFewFaster,
    async rankingsAlso(questions, also, { topK }) {
      requests.push([topK, questions.length]);
      const few = best(dense, topK);
      return questions.map((_, i) => {
        const ordinals = Uint32Array.from(new Set([...few.ordinals, ...also[i]!]));
        return ranked({ ordinals, scores: at(dense, ordinals) });
      });
    },
    words: async () => undefined,
    async scores() {
      throw new Error("all scores are known");
    },
  };
  const bm25 = {
    analyser: { languages: [], terms: termsOf },
    rank: (_: string, topK: number) => best(lexical, topK),
    score: (_: string, ordinals: Uint32Array) => at(lexical, ordinals),
  };
  const search = (questions: number, topK: number) =>
    hybridSearch(
      index as IndexGeneration,
      { lambda: 1, lexical: { bm25 } as unknown as LexicalIndex },
      Array.from({ length: questions }, () => ({ text: "lion", vectors: Float32Array.of(1) })),
      { topK },
    );
  return { search, requests };
}

test("a search for few hits has the result of the whole union, alone and in a batch", async () => {
  const scores = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), {
    minLength: 300,
    maxLength: 300,
  });
  const seen = { few: 0, again: 0 };
  await fc.assert(
    fc.asyncProperty(scores, scores, fc.integer({ min: 1, max: 25 }), async (a, b, topK) => {
      const { search, requests } = withScores(a, b, true);
      const [alone] = await search(1, topK);
      if (requests.length === 1) seen.few++;
      else seen.again++;
      const [whole] = await withScores(a, b, false).search(1, topK);
      assert.equal(alone, whole);
      assert.equal(await search(2, topK), [whole, whole]);
      assert.equal(
        requests,
        [
          [2 * topK, 1],
          [100, 1],
          [2 * topK, 2],
          [100, 2],
        ].filter(([hits]) => requests.length === 4 || hits !== 100),
      );
    }),
    { numRuns: 200, seed: 7 },
  );
  assert.ok(seen.few > 0 && seen.again > 0, JSON.stringify(seen));
});

test("the BM25 score is divided by the terms of the question, without stop words", async () => {
  const lists = { lexical: ranking({ a: 12 }), dense: ranking({ b: 3 }) };
  const index = { scores: async () => Float64Array.of(5) };
  const lexical = {
    analyser: { languages: [], terms: termsOf },
    score: () => Float64Array.of(6),
  };
  const vectors = Float32Array.of(1, 2);
  for (const [text, terms] of [
    ["What do the lions of Africa eat?", 5], // what, do, lion, africa, eat
    ["Africa, Africa", 2],
    ["of the", 1],
  ] as const) {
    const found = await hybridScores(index, lexical, { text, vectors }, lists);
    assert.equal(found, union({ a: [12 / terms, 5], b: [6 / terms, 3] }));
  }
});

test("a term that one passage has outweighs the model", async () => {
  const dates = ["2024-01-10", "2024-10-01", "2024-01-01", "2024-10-10"];
  const others = Array.from(
    { length: 96 },
    (_, i) => `Report ${i} of the archive on stored goods.`,
  );
  const texts = [...dates.map((date) => `The backup of ${date} is stored in room 5.`), ...others];
  const bm25 = await buildBm25(texts.map((text, i) => ({ id: `${i}`, title: "", text })));
  const dense = texts.map((_, i) => (i < 4 ? 0.5 + i / 100 : 0.2)); // the last date is preferred
  const index = {
    findsFewFaster: false,
    rankingsAlso: async () => [
      ranked({ ordinals: Uint32Array.from(dense.keys()), scores: Float64Array.from(dense) }),
    ],
    scores: async (_: Float32Array, ordinals: Uint32Array) =>
      Float64Array.from(ordinals, (ordinal) => dense[ordinal]!),
  } as unknown as IndexGeneration;
  const first = async (text: string) => {
    const question = { text, vectors: Float32Array.of(1) };
    const weights = { lambda: 14.5, lexical: { bm25 } as LexicalIndex };
    const [found] = await hybridSearch(index, weights, [question], { topK: 1 });
    return found!.ordinals[0];
  };
  for (const [i, date] of dates.entries())
    assert.is(await first(`Where is the backup of ${date} stored?`), i, date);
  assert.is(await first("Where is the backup stored?"), 3);
});

test("ranks every passage once, by the formula, equal scores in the order of the index", () => {
  const score = fc.integer({ min: -20, max: 20 });
  const scored = fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.tuple(score, score)), {
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(scored, fc.integer({ min: 0, max: 5 }), (entries, lambda) => {
      const found = combineScores(union(Object.fromEntries(entries)), lambda);
      const expected = entries.map(([name, [lexical, dense]]) => ({
        ordinal: ordinal(name),
        score: lexical + lambda * dense + 0,
      }));
      expected.sort((a, b) => b.score - a.score || a.ordinal - b.ordinal);
      assert.equal(
        Array.from(found.ordinals, (ordinal, i) => ({ ordinal, score: found.scores[i]! + 0 })),
        expected,
      );
    }),
  );
});

test.run();
