import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { evaluateRun, measureRanking } from "../../src/evaluation/ranking.ts";
import type { ScoredId } from "../../src/retrieval/bm25/bm25.ts";

const close = (actual: number | undefined, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual! - expected) <= tolerance, `${actual} is not ${expected}`);
const scored = (scores: Record<string, number>): ScoredId[] =>
  Object.entries(scores).map(([id, score]) => ({ id, score }));
const labels = (of: Record<string, number>) => new Map(Object.entries(of));

/**
 * Ranks of the 50 relevant documents of 77 that the run of trec_eval's own test has among 500 for
 * topic 302.
 */
const TOPIC_302 = [
  1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 24, 27, 28, 30, 31, 34, 36, 37,
  39, 42, 43, 44, 47, 48, 49, 50, 51, 53, 56, 58, 72, 79, 82, 84, 116, 154, 289, 301, 331, 353, 394,
  458,
];

test("gives what trec_eval's own test expects of topic 302 (test/out.test.aq)", () => {
  const results = Array.from({ length: 500 }, (_, i) => ({ id: `rank${i + 1}`, score: -i }));
  const relevant = [
    ...TOPIC_302.map((rank) => `rank${rank}`),
    ...Array.from({ length: 27 }, (_, i) => `lost${i}`),
  ];
  const measures = measureRanking(
    results.reverse(),
    new Map([...relevant.map((id): [string, number] => [id, 1]), ["rank3", 0]]),
    [5, 10, 15, 20, 30, 100, 200, 500, 1000],
  );
  const expected = {
    map: 0.4175,
    mrr: 1,
    rprec: 39 / 77, // 39 of the ranks above are at most 77
    "ndcg@5": 0.8304,
    "ndcg@10": 0.753,
    "ndcg@15": 0.8085,
    "ndcg@20": 0.8082,
    "ndcg@30": 0.7604,
    "ndcg@100": 0.6046,
    "ndcg@200": 0.6209,
    "ndcg@1000": 0.6617,
    "p@5": 0.8,
    "p@10": 0.7,
    "p@100": 0.42,
    "p@500": 0.1,
    "p@1000": 0.05,
    "recall@5": 0.0519,
    "recall@10": 0.0909,
    "recall@100": 0.5455,
    "recall@1000": 0.6494,
  };
  for (const [name, value] of Object.entries(expected))
    close(measures[name], value, 0.00005 + 1e-9);
});

test("graded labels, worked by hand", () => {
  // Ranking c a x b with labels 0 3 - 1, and d (2) not found.
  const measures = measureRanking(
    scored({ a: 0.8, b: 0.5, c: 0.9, x: 0.6 }),
    labels({ a: 3, b: 1, c: 0, d: 2, e: -1 }),
    [1, 2, 4, 10],
  );
  const log = Math.log2;
  close(measures["ndcg@1"], 0);
  close(measures["ndcg@2"], 3 / log(3) / (3 + 2 / log(3)));
  close(measures["ndcg@4"], (3 / log(3) + 1 / log(5)) / (3 + 2 / log(3) + 1 / log(4)));
  close(measures["ndcg@10"], measures["ndcg@4"]!);
  assert.equal(
    [measures["p@1"], measures["p@2"], measures["p@4"], measures["p@10"]],
    [0, 1 / 2, 2 / 4, 2 / 10],
  );
  assert.equal(
    [measures["recall@1"], measures["recall@2"], measures["recall@4"]],
    [0, 1 / 3, 2 / 3],
  );
  close(measures.map, (1 / 2 + 2 / 4) / 3);
  close(measures.mrr, 1 / 2);
  assert.equal([measures["mrr@1"], measures["mrr@2"], measures["mrr@10"]], [0, 1 / 2, 1 / 2]);
  close(measures.rprec, 1 / 3); // 3 are relevant, and one of the first 3 is
});

test("pytrec_eval's examples", () => {
  const judged = labels({ d1: 0, d2: 1, d3: 0 });
  const third = measureRanking(scored({ d1: 1, d2: 0, d3: 1.5 }), judged, [1, 2, 3, 1000]);
  assert.equal(
    [1, 2, 3, 1000].map((k) => third[`ndcg@${k}`]),
    [0, 0, 0.5, 0.5],
  );
  assert.is(measureRanking(scored({ d1: 1, d2: 2, d3: 1.5 }), judged, [1])["ndcg@1"], 1);
  close(
    measureRanking(scored({ d1: 4, d2: 2, d3: 1.5 }), judged, [3])["ndcg@3"],
    0.6309297535714575,
  );
});

test("equal scores rank the greater id first, by bytes, and scores are float32", () => {
  const first = (results: ScoredId[]) =>
    results.find(({ id }) => measureRanking(results, labels({ [id]: 1 })).mrr === 1)!.id;
  assert.is(first(scored({ FT1: 2, FT3: 2, FT2: 2 })), "FT3");
  assert.is(first(scored({ "9": 1, "10": 1 })), "9");
  // In UTF-8 U+FF5E is EF BD 9E and U+1F600 is F0 9F 98 80; in UTF-16 the second is the lower.
  assert.is(first(scored({ "\u{ff5e}": 1, "\u{1f600}": 1 })), "\u{1f600}");
  // Both are 16777216 in float32.
  assert.is(first(scored({ a: 16777217, b: 16777216 })), "b");
});

test("missing queries and queries without relevant passages count 0; queries without judgements do not count", () => {
  const run = new Map([
    ["found", scored({ a: 1 })],
    ["nothing relevant", scored({ a: 1 })],
    ["not judged", scored({ a: 1 })],
  ]);
  const qrels = new Map([
    ["found", labels({ a: 1 })],
    ["nothing relevant", labels({ a: 0 })],
    ["missing", labels({ a: 1 })],
  ]);
  const { measures, ...counts } = evaluateRun(run, qrels, [1]);
  assert.equal(counts, { queries: 3, unanswered: 1, unjudged: 1 });
  assert.equal(measures, {
    "ndcg@1": 1 / 3,
    "p@1": 1 / 3,
    "recall@1": 1 / 3,
    "mrr@1": 1 / 3,
    map: 1 / 3,
    mrr: 1 / 3,
    rprec: 1 / 3,
  });
});

test("measures are from 0 to 1, and a perfect ranking has 1", () => {
  const judged = fc.uniqueArray(
    fc.record({ id: fc.string({ minLength: 1 }), label: fc.integer({ min: -1, max: 3 }) }),
    {
      selector: ({ id }) => id,
      minLength: 1,
    },
  );
  fc.assert(
    fc.property(judged, fc.infiniteStream(fc.integer({ min: 0, max: 5 })), (entries, scores) => {
      const of = new Map(entries.map(({ id, label }) => [id, label]));
      const results = entries.map(({ id }) => ({ id, score: scores.next().value as number }));
      for (const value of Object.values(measureRanking(results, of)))
        assert.ok(value >= 0 && value <= 1 + 1e-12);
      if (!entries.some(({ label }) => label > 0)) return;
      const perfect = measureRanking(
        entries.map(({ id, label }) => ({ id, score: label })),
        of,
        [entries.length],
      );
      for (const name of [`ndcg@${entries.length}`, `recall@${entries.length}`, "map", "mrr"])
        close(perfect[name], 1);
    }),
  );
});

test("a query's own passage counts as in trec_eval, or not, as in BEIR", () => {
  const qrels = new Map([["a", new Map([["b", 1]])]]);
  const run = new Map([["a", ["a", "b"].map((id, i) => ({ id, score: 2 - i }))]]);
  assert.is(evaluateRun(run, qrels, [1]).measures.mrr, 1 / 2);
  assert.is(evaluateRun(run, qrels, [1], { ownPassages: false }).measures.mrr, 1);
});

test.run();
