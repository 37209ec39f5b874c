/** Measurements of a run: the model that is kept, the end after a fall, and the verdict. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { type Bm25, buildBm25, DEFAULT_PARAMETERS } from "../../../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { openMonitorSet } from "../../../src/training/run/measured-set.ts";
import {
  bestOf,
  fallOf,
  gainOf,
  isBelow,
  type MeasurementRecord,
  measuresOf,
  outcomeOf,
  verdictOf,
} from "../../../src/training/run/records.ts";
import { naiveScores } from "../../retrieval/bm25/naive.ts";
import { assertNear } from "../../support/arrays.ts";

const record = (step: number, reciprocalRanks: readonly number[]): MeasurementRecord => ({
  step,
  reciprocalRanks,
  hybrid: { reciprocalRanks, weights: { lambda: 1, k1: 0.9, b: 0.4 } },
});
const all = (value: number, count = 20) => Array<number>(count).fill(value);

test("measures are those of ranks", () => {
  // ranks 1, 2, 5, 20, none
  assert.equal(measuresOf(record(0, [1, 1 / 2, 1 / 5, 1 / 20, 0])), {
    mrr: 1.75 / 5,
    "recall@1": 0.2,
    "recall@5": 0.6,
    "recall@20": 0.8,
  });
});

test("the best is the highest, and of equal ones the last", () => {
  const records = [record(0, all(0.5)), record(5, all(1)), record(10, all(1)), record(15, all(0))];
  assert.is(bestOf(records).step, 10);
});

const answered = (step: number, exactMatch: number, recall: number, f1: number) => ({
  ...record(step, [recall]),
  ...{ exactMatch: [exactMatch], f1: [f1] },
});

for (const [title, records, best] of [
  ["the highest exact match", [answered(1, 1, 0, 0), answered(2, 0, 1, 1)], 1],
  [
    "of equal exact match, what retrieves better",
    [answered(1, 1, 1, 0), answered(2, 1, 0.5, 1)],
    1,
  ],
  ["of equal retrieval, the higher F1", [answered(1, 1, 1, 0.4), answered(2, 1, 1, 0.3)], 1],
  ["of equal ones, the last", [answered(1, 1, 1, 0.3), answered(2, 1, 1, 0.3)], 2],
  ["not the one before training", [answered(1, 0, 0, 0)], 1],
] as const)
  test(`where questions are answered: ${title}`, () =>
    assert.is(bestOf([answered(0, 1, 1, 1), ...records]).step, best));

test("a gain that may be chance does not replace the start", () => {
  // d: 8 of 20 gain 1/2, 6 lose 1/2: mean 0.05, sd 0.426, so 0.52 standard errors
  const mixed = [...all(1, 8), ...all(0, 6), ...all(0.5, 6)];
  const start = record(0, all(0.5));
  assertNear([gainOf(start, record(5, mixed))], [0.05 / (0.426 / Math.sqrt(20))], 0.01);
  assert.is(bestOf([start, record(5, mixed)]).step, 0);
  // 10 gain, 4 lose: 1.6 standard errors
  const clear = [...all(1, 10), ...all(0, 4), ...all(0.5, 6)];
  assert.is(bestOf([start, record(5, mixed), record(10, clear)]).step, 10);
  assert.is(bestOf([record(0, [0.5]), record(5, [1])]).step, 0, "one question proves nothing");
});

test("a model that was taken is the start of what follows", () => {
  const taken = { ...record(1, all(0.4)), taken: true };
  assert.is(bestOf([record(0, all(0.5)), taken]).step, 1);
  assert.is(bestOf([record(0, all(0.5)), taken, record(5, all(0.45))]).step, 5);
  assert.is(outcomeOf([record(0, all(0.5)), taken], { mrr: 0.6 }).taken, true);
  assert.is(outcomeOf([taken, record(5, all(0.45))], { mrr: 0.6 }).taken, undefined);
});

test("the outcome is that of the model that was kept", () => {
  const records = [record(0, all(0.5)), record(5, all(1)), record(10, all(0.2))];
  const { before, after, bm25, step, questions } = outcomeOf(records, { mrr: 0.6 });
  assert.equal([before.mrr, after.mrr, bm25.mrr, step], [0.5, 1, 0.6, 5]);
  assert.is(questions, 20);
});

test("the outcome has hybrid search before and after, with the weights of the kept model", () => {
  const withHybrid = (step: number, rank: number, both: number, lambda: number) => ({
    ...record(step, all(rank)),
    hybrid: { reciprocalRanks: all(both), weights: { lambda, k1: 0.9, b: 0.4 } },
  });
  const records = [withHybrid(0, 0.5, 0.5, 1), withHybrid(5, 1, 0.75, 2), withHybrid(9, 0.2, 1, 3)];
  const { hybrid } = outcomeOf(records, { mrr: 0.6 });
  assert.equal([hybrid!.before.mrr, hybrid!.after.mrr, hybrid!.weights.lambda], [0.5, 0.75, 2]);
});

test("a clear loss against another record is below it, and one that chance explains is not", () => {
  assert.ok(isBelow(record(5, [...all(0, 10), ...all(1, 10)]), record(0, all(1))));
  assert.not(isBelow(record(5, all(1)), record(0, all(0.5))));
  // Eight are lost and four won: a mean loss of 0.2 with a standard error of 0.17.
  const lost = [...all(1, 8), ...all(0, 4), ...all(1, 8)];
  const won = [...all(0, 8), ...all(1, 4), ...all(1, 8)];
  assert.not(isBelow(record(5, won), record(0, lost)));
  assert.not(isBelow(record(5, [0]), record(0, [1])), "one question proves nothing");
});

test("three measurements in a row below the best one end a run", () => {
  const records = [record(0, all(0.5)), record(5, all(1)), record(10, all(0.2))];
  assert.is(fallOf(records), undefined);
  assert.is(fallOf([...records, record(15, all(0.2)), record(20, all(1))]), undefined);
  assert.match(
    fallOf([...records, record(15, all(0.6)), record(20, all(0.2))])!,
    /^retrieval fell/,
  );
});

test("BM25 of the monitor scores its own texts with the statistics of the corpus", async () => {
  const corpus: Passage[] = [
    { id: "a", title: "", text: "the harbour of Oslo. Trains go to Bergen" },
    { id: "b", title: "", text: "the harbour of Rome" },
    ...Array.from({ length: 20 }, (_, i) => ({ id: `x${i}`, title: "", text: `harbour ${i}` })),
  ];
  const cut = { id: "a", title: "", text: "Trains go to Bergen" };
  const passages = [corpus[1]!, cut];
  const questions = [
    { question: "harbour trains", relevant: ["a"] },
    { question: "Rome harbour", relevant: ["b"] },
    { question: "Oslo", relevant: ["a"] },
  ];
  const bm25 = (): Promise<Bm25> => buildBm25(corpus);
  const { lexical, baseline } = await openMonitorSet({ questions, passages, every: 5 }, { bm25 });
  const { k1, b: normalisation } = DEFAULT_PARAMETERS;
  const naive = naiveScores(passages, "harbour trains", k1, normalisation, corpus);
  const [a, b] = [naive.get("a")!, naive.get("b")!];
  const { ordinals, scores } = lexical.rank("harbour trains", 10);
  assert.equal([...ordinals], [1, 0]);
  assertNear([...scores], [a, b], 1e-12);
  assert.equal(lexical.search("harbour trains", 1)[0]!.id, "a");
  assertNear([...lexical.score("harbour trains", [0, 1])], [b, a], 1e-12);
  assert.equal(lexical.search("Oslo", 10), [], "the removed sentence is not searched");
  assert.equal(baseline.measures, {
    mrr: 2 / 3,
    "recall@1": 2 / 3,
    "recall@5": 2 / 3,
    "recall@20": 2 / 3,
  });
});

const measures = (share: number) => ({ mrr: share, "recall@1": share });
const monitor = {
  before: measures(25 / 200),
  after: measures(41 / 200),
  bm25: measures(0.25),
  hybrid: {
    before: measures(0.3),
    after: measures(0.35),
    weights: { lambda: 1, k1: 0.9, b: 0.4 },
  },
  step: 60,
  questions: 200,
};

test("the verdict has the examples with the right passage first, before and after", () => {
  const found = "R@1 25 → 41 of 200 held-out examples; hybrid 60 → 70, BM25 50";
  assert.is(verdictOf({ monitor, step: 90 }), found);
  assert.is(
    verdictOf({ monitor: { ...monitor, step: 1, taken: true }, step: 90 }),
    `no gain from training, token weights counted: ${found}`,
  );
});

test("the verdict without a gain, and without held-out examples", () => {
  assert.is(
    verdictOf({ monitor: { ...monitor, step: 0 }, step: 90 }),
    "no gain, model unchanged: R@1 25 of 200 held-out examples",
  );
  assert.match(
    verdictOf({ monitor: { ...monitor, step: 0 }, step: 0 }),
    /^no time was left to train, model unchanged/,
  );
  assert.match(verdictOf({ step: 90 }), /^no verdict: too few examples/);
});

test.run();
