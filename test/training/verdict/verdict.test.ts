/** Measurements of a run: the model that is kept, the end after a fall, and the verdict. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { type Bm25, buildBm25, DEFAULT_PARAMETERS } from "../../../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  chosenOf,
  fallOf,
  gainOf,
  isBelow,
  takesTokenWeights,
} from "../../../src/training/verdict/decision.ts";
import { divide, openMonitorSet } from "../../../src/training/verdict/measured-set.ts";
import { type MeasuredModel, measuresOf } from "../../../src/training/verdict/measurements.ts";
import { outcomeOf, type RunOutcome, verdictOf } from "../../../src/training/verdict/verdict.ts";
import { naiveScores } from "../../retrieval/bm25/naive.ts";
import { assertNear } from "../../support/arrays.ts";

const record = (step: number, reciprocalRanks: readonly number[]): MeasuredModel => ({
  step,
  kind: step === 0 ? "start" : "trained",
  reciprocalRanks,
  hybrid: { reciprocalRanks, weights: { lambda: 1, k1: 0.9, b: 0.4 } },
  reported: { reciprocalRanks, hybrid: reciprocalRanks },
});
const NO_BM25 = { reportedBaseline: {} };
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
  assert.is(chosenOf(records).step, 10);
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
] as const)
  test(`where questions are answered: ${title}`, () =>
    assert.is(chosenOf([answered(0, 0, 0, 0), ...records]).step, best));

for (const [title, after, best] of [
  ["answers fewer", answered(1, 0, 1, 1), 0],
  ["answers as many and retrieves worse", answered(1, 1, 0.5, 1), 0],
  ["is equal", answered(1, 1, 1, 1), 1],
] as const)
  test(`where questions are answered, a model that ${title} is compared with the given one`, () => {
    const models = [answered(0, 1, 1, 1), after];
    assert.is(chosenOf(models).step, best);
    assert.is(outcomeOf(models, NO_BM25, true).step, best);
  });

test("where questions are answered, more answers with clearly worse retrieval keep the start", () => {
  const dev = (step: number, right: number, found: number, both: number): MeasuredModel => ({
    ...record(step, all(found)),
    hybrid: { reciprocalRanks: all(both), weights: { lambda: 1, k1: 0.9, b: 0.4 } },
    reported: undefined,
    exactMatch: [...all(1, right), ...all(0, 20 - right)],
    f1: all(0),
  });
  const kept = (...models: MeasuredModel[]) => outcomeOf(models, NO_BM25, true).step;
  const start = dev(0, 5, 0.5, 0.5);
  assert.is(kept(start, dev(5, 15, 0.4, 0.5)), 0, "the model alone");
  assert.is(kept(start, dev(5, 15, 0.5, 0.4)), 0, "hybrid search");
  assert.is(kept(start, dev(5, 15, 0.4, 0.4), dev(9, 6, 0.5, 0.5)), 9, "another one is kept");
});

test("where questions are answered, an answer more is no reason to lose passages", () => {
  const ranks = (step: number, right: number, found: readonly number[]): MeasuredModel => ({
    ...record(step, found),
    reported: undefined,
    exactMatch: [...all(1, right), ...all(0, 20 - right)],
    f1: all(0),
  });
  // hybrid search falls by 0.025, which is one standard error
  const lower = [...all(0.5, 19), 0];
  // two more of 20: a mean of 0.1 and a standard error of 0.07
  assert.is(chosenOf([ranks(0, 5, all(0.5)), ranks(5, 7, lower)]).step, 5, "1.5 standard errors");
  assert.is(chosenOf([ranks(0, 5, all(0.5)), ranks(5, 5, lower)]).step, 0);
  // 8 are gained and 7 lost: an answer more, of a quarter of a standard error
  const after = { ...ranks(5, 0, lower), exactMatch: [...all(0, 7), ...all(1, 13)] };
  const before = { ...ranks(0, 12, all(0.5)), exactMatch: [...all(1, 12), ...all(0, 8)] };
  assert.is(chosenOf([before, after]).step, 0, "a quarter of one");
});

test("few questions say how small a gain they can show, also where the start was kept", () => {
  // d: 5 of 20 gain 1/2, 5 lose it: sd 0.363, so 1.96 * 0.363 / sqrt(20) = 0.159
  const after = [...all(1, 5), ...all(0, 5), ...all(0.5, 10)];
  const outcome = outcomeOf([record(0, all(0.5)), record(5, after)], NO_BM25, false);
  assert.is(outcome.step, 0);
  assertNear([outcome.resolution!], [0.159], 0.1);
  assert.match(
    verdictOf({ outcome: { ...outcome, before: { "recall@1": 0.5 } }, step: 60 }),
    /^no gain, model unchanged: R@1 10 of 20 held-out examples; 20 questions show MRR to ±1[4-7]\.\d points$/,
  );
  const many = [record(0, all(0.5, 300)), record(5, [...all(1, 150), ...all(0, 150)])];
  assert.is(outcomeOf(many, NO_BM25, false).resolution, undefined);
});

test("a gain that may be chance does not replace the start", () => {
  // d: 8 of 20 gain 1/2, 6 lose 1/2: mean 0.05, sd 0.426, so 0.52 standard errors
  const mixed = [...all(1, 8), ...all(0, 6), ...all(0.5, 6)];
  const start = record(0, all(0.5));
  assertNear([gainOf(start, record(5, mixed))], [0.05 / (0.426 / Math.sqrt(20))], 0.01);
  assert.is(chosenOf([start, record(5, mixed)]).step, 0);
  // 10 gain, 4 lose: 1.6 standard errors
  const clear = [...all(1, 10), ...all(0, 4), ...all(0.5, 6)];
  assert.is(chosenOf([start, record(5, mixed), record(10, clear)]).step, 10);
  assert.is(chosenOf([record(0, [0.5]), record(5, [1])]).step, 0, "one question proves nothing");
});

test("the mean with the given weights needs no more than a gain", () => {
  const mixed = [...all(1, 8), ...all(0, 6), ...all(0.5, 6)]; // 0.52 standard errors
  const start = record(0, all(0.5));
  const kind = "mean";
  assert.is(chosenOf([start, { ...record(5, mixed), kind }]).step, 5);
  assert.is(chosenOf([start, { ...record(5, all(0.5)), kind }]).step, 0);
  const withHybrid = (...ranks: readonly number[]) =>
    chosenOf([start, { ...record(5, mixed), kind, hybrid: record(5, ranks).hybrid }]).step;
  assert.is(withHybrid(...all(0.5, 18), 0.4, 0.55), 5, "a loss of 0.4 standard errors");
  assert.is(withHybrid(...all(0.5, 16), ...all(0.4, 4)), 0, "2.2 standard errors");
});

test("of two that gain, the one with the better hybrid search is kept", () => {
  const start = record(0, all(0.5));
  const { hybrid } = record(10, all(0.7));
  assert.is(chosenOf([start, record(5, all(0.8)), { ...record(10, all(1)), hybrid }]).step, 5);
  assert.is(chosenOf([start, record(5, all(0.7)), { ...record(10, all(1)), hybrid }]).step, 10);
});

test("what is higher and may be chance is not kept, and the verdict says what it raised", () => {
  const mixed = [...all(1, 8), ...all(0, 6), ...all(0.5, 6)]; // 0.52 standard errors
  const weighed = { ...record(1, all(0.5)), kind: "token weights" } as const;
  const trained = record(5, mixed);
  for (const models of [
    [record(0, all(0.5)), trained],
    [record(0, all(0.5)), weighed, trained],
  ]) {
    const outcome = outcomeOf(models, { reportedBaseline: { "recall@1": 0.5 } }, false);
    assert.is(outcome.passedOver!.step, 5);
    assertNear([outcome.passedOver!.gain.difference], [0.05], 1e-12);
    assert.match(verdictOf({ outcome, step: 60 }), /; step 5 not kept: MRR \+5\.0 points/);
  }
  const lower = [record(0, all(0.5)), record(5, all(0.4))];
  assert.is(outcomeOf(lower, NO_BM25, false).passedOver, undefined);
});

test("a model with which hybrid search is worse is not kept", () => {
  const start = record(0, all(0.5));
  const { hybrid } = record(10, [...all(0.5, 19), 0.4]);
  assert.is(chosenOf([start, record(5, all(0.8)), { ...record(10, all(1)), hybrid }]).step, 5);
});

test("a model that was taken is the start of what follows", () => {
  const start = record(0, all(0.5));
  const taken = { ...record(1, [...all(0.5, 18), 0.4, 0.4]), kind: "token weights" } as const;
  const better = record(5, [...all(0.5, 18), 0.45, 0.45]); // 1.5 standard errors above
  assert.is(chosenOf([start, taken]).step, 1);
  assert.is(chosenOf([start, taken, better]).step, 5);
  assert.is(outcomeOf([start, taken], NO_BM25, false).kept, "token weights");
  assert.is(outcomeOf([start, taken, better], NO_BM25, false).kept, "trained");
});

test("a model that is clearly worse than the given one is not kept, even if it beats a taken one", () => {
  // 40 questions, of which some fall from 1 to 0: 3 are 1.8 standard errors, 5 are 2.4
  const hybrid = (falls: number) =>
    ({ ...record(0, [...all(0, falls), ...all(1, 40 - falls)]) }).hybrid;
  const given = record(0, all(0.5, 40));
  const start = { ...given, hybrid: hybrid(0) };
  const taken = { ...record(1, all(0.5, 40)), hybrid: hybrid(5), kind: "token weights" } as const;
  const trained = { ...record(5, all(0.9, 40)), hybrid: hybrid(5) };
  assert.is(chosenOf([start, taken, trained]).step, 1);
  assert.is(
    chosenOf([start, { ...taken, hybrid: hybrid(3) }, { ...trained, hybrid: hybrid(3) }]).step,
    5,
  );
});

const weighed = (ranks: readonly number[], both: readonly number[]) => ({
  ...record(0, ranks),
  hybrid: record(0, both).hybrid,
});

test("of few examples, counted token weights need a gain", () => {
  const start = weighed(all(0.5, 25), all(0.5, 25));
  const won = [...all(1, 3), ...all(0.5, 22)]; // 1.8 standard errors
  assert.not(takesTokenWeights(start, weighed(all(0.5, 25), all(0.5, 25))), "none");
  assert.ok(takesTokenWeights(start, weighed(won, all(0.5, 25))));
  assert.not(takesTokenWeights(start, weighed([1, ...all(0.5, 24)], all(0.5, 25))), "chance");
  assert.not(takesTokenWeights(start, weighed(won, [0, ...all(0.5, 24)])), "worse hybrid search");
});

test("of many examples, counted token weights need not to be clearly worse", () => {
  const start = weighed(all(0.5, 100), all(0.5, 100));
  const lost = (count: number) => [...all(0, count), ...all(0.5, 100 - count)];
  assert.ok(takesTokenWeights(start, start));
  assert.ok(takesTokenWeights(start, weighed(lost(3), lost(3)))); // 1.7 standard errors
  assert.not(takesTokenWeights(start, weighed(lost(6), lost(0)))); // 2.5
  assert.not(takesTokenWeights(start, weighed(lost(0), lost(6))));
});

test("a model that reads clearly worse is not kept, however well it retrieves", () => {
  const reads = (step: number, rank: number, right: number) => ({
    ...record(step, all(rank)),
    reading: [...all(1, right), ...all(0, 20 - right)],
  });
  // 8 of 20 lost: 0.4 with a standard error of 0.11; 1 of 20: 0.05 with one of 0.05
  assert.is(chosenOf([reads(0, 0.5, 16), reads(5, 1, 8)]).step, 0);
  assert.is(chosenOf([reads(0, 0.5, 16), reads(5, 1, 15)]).step, 5);
});

test("a model that reads better and loses no retrieval is kept", () => {
  const reads = (step: number, rank: number, right: number) => ({
    ...record(step, all(rank)),
    reading: [...all(1, right), ...all(0, 20 - right)],
  });
  const start = reads(0, 0.5, 8);
  // 8 of 20 gained: 0.4 with a standard error of 0.11; 2 gained and 1 lost: 0.05 with one of 0.09
  assert.is(chosenOf([start, reads(5, 0.5, 16)]).step, 5);
  const mixed = { ...reads(5, 0.5, 0), reading: [0, ...all(1, 9), ...all(0, 10)] };
  assert.is(chosenOf([start, mixed]).step, 0, "half a standard error");
  assert.is(chosenOf([start, reads(5, 0.499, 16)]).step, 0, "a loss of retrieval");
  assert.is(chosenOf([start, reads(5, 0.5, 16), reads(9, 0.5, 14)]).step, 5, "the better reader");
  const outcome = outcomeOf([start, reads(5, 0.5, 16)], NO_BM25, true);
  assertNear([outcome.readingGain!.difference], [0.4], 1e-12);
  assert.ok(outcome.readingGain!.interval[0] > 0);
});

test("the outcome is that of the model that was kept, by the examples that chose nothing", () => {
  const withReported = (step: number, rank: number, reported: readonly number[]) => ({
    ...record(step, all(rank)),
    reported: { reciprocalRanks: reported, hybrid: reported },
  });
  const records = [
    withReported(0, 0.5, [1, 0.5, 0, 1]),
    withReported(5, 1, [1, 1, 0.5, 0.5]), // kept
    withReported(10, 0.2, all(1, 4)),
  ];
  const { before, after, gain, bm25, step, questions } = outcomeOf(
    records,
    { reportedBaseline: { mrr: 0.6 } },
    false,
  );
  assert.equal([before.mrr, after.mrr, bm25.mrr, step], [2.5 / 4, 3 / 4, 0.6, 5]);
  assert.is(questions, 4);
  // The gains are 0, 0.5, 0.5 and -0.5. Of 256 equally likely samples the mean of 1 is -0.5 and of
  // 9 at most -0.375: 3.5 %. So the interval begins at -0.25 or above it, and ends at 0.5.
  assertNear([gain.difference], [0.125], 1e-12);
  assert.ok(gain.interval[0] >= -0.375 && gain.interval[0] <= -0.25, `${gain.interval}`);
  assert.is(gain.interval[1], 0.5);
});

test("where all examples chose the model, they report too, and the verdict says so", () => {
  const { reported: _, ...before } = record(0, all(0.5));
  const { reported: __, ...after } = record(5, all(1));
  const outcome = outcomeOf([before, after], { reportedBaseline: { "recall@1": 0.5 } }, false);
  assert.equal([outcome.step, outcome.questions, outcome.after.mrr], [5, 20, 1]);
  assert.match(
    verdictOf({ outcome, step: 60 }),
    /^gain: R@1 0 → 20 of 20 held-out examples, which chose the model too, MRR \+50\.0 points/,
  );
});

test("the outcome has hybrid search before and after, with the weights of the kept model", () => {
  const withHybrid = (step: number, rank: number, both: number, lambda: number) => ({
    ...record(step, all(rank)),
    hybrid: { reciprocalRanks: all(0), weights: { lambda, k1: 0.9, b: 0.4 } },
    reported: { reciprocalRanks: all(rank), hybrid: all(both) },
  });
  const records = [withHybrid(0, 0.5, 0.5, 1), withHybrid(5, 1, 0.75, 2), withHybrid(9, 0.2, 1, 3)];
  const { hybrid } = outcomeOf(records, { reportedBaseline: { mrr: 0.6 } }, false);
  assert.equal([hybrid.before.mrr, hybrid.after.mrr, hybrid.weights.lambda], [0.5, 0.75, 2]);
  assert.equal(hybrid.gain, { difference: 0.25, interval: [0.25, 0.25] });
});

test("a clear loss of the examples that report gives the given model back", () => {
  const reports = (step: number, rank: number, alone: number, both: number) => ({
    ...record(step, all(rank)),
    reported: { reciprocalRanks: all(alone), hybrid: all(both) },
  });
  for (const [alone, both] of [
    [0.6, 0.4],
    [0.4, 0.6],
  ] as const) {
    const outcome = outcomeOf(
      [reports(0, 0.5, 0.5, 0.5), reports(5, 1, alone, both)],
      NO_BM25,
      false,
    );
    assert.is(outcome.step, 0);
    assert.equal(outcome.after, outcome.before);
    assert.equal(outcome.hybrid.after, outcome.hybrid.before);
    assert.equal(outcome.gain, { difference: 0, interval: [0, 0] });
    const { step, gain, hybrid } = outcome.refused!;
    assertNear([step, gain.difference, hybrid.difference], [5, alone - 0.5, both - 0.5], 1e-12);
  }
  // 2 of 20 fall by 0.5, and one rises: the interval contains 0
  const mixed = { ...reports(5, 1, 0.6, 0.5) };
  const within = [...all(0, 2), 1, ...all(0.5, 17)];
  const kept = { ...mixed, reported: { ...mixed.reported, hybrid: within } };
  const outcome = outcomeOf([reports(0, 0.5, 0.5, 0.5), kept], NO_BM25, false);
  assert.equal([outcome.step, outcome.refused], [5, undefined]);
});

test("the outcome says what became of reading", () => {
  const reads = (step: number, right: readonly number[]) => ({
    ...record(step, all(step === 0 ? 0.5 : 1)),
    reading: right,
  });
  const records = [reads(0, [1, 0, 0]), reads(5, [1, 1, 0])];
  assert.equal(outcomeOf(records, NO_BM25, true).reading, { before: 1, after: 2, questions: 3 });
  assert.is(outcomeOf([record(0, all(1))], NO_BM25, false).reading, "unchanged");
  assert.is(outcomeOf([record(0, all(1))], NO_BM25, true).reading, undefined);
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
  const set = await openMonitorSet({ questions, passages, every: 5 }, { bm25 });
  const { lexical, baseline, reportedBaseline, reports } = set;
  const { k1, b: normalisation } = DEFAULT_PARAMETERS;
  const naive = naiveScores(passages, "harbour trains", k1, normalisation, corpus);
  const [a, b] = [naive.get("a")!, naive.get("b")!];
  const { ordinals, scores } = lexical.rank("harbour trains", 10);
  assert.equal([...ordinals], [1, 0]);
  assertNear([...scores], [a, b], 1e-12);
  assert.equal(lexical.search("harbour trains", 1)[0]!.id, "a");
  assertNear([...lexical.score("harbour trains", [0, 1])], [b, a], 1e-12);
  assert.equal(lexical.search("Oslo", 10), [], "the removed sentence is not searched");
  assert.equal(reports, [false, false, false]); // too few to divide
  assert.equal(reportedBaseline, baseline.measures);
  assert.equal(baseline.measures, {
    mrr: 2 / 3,
    "recall@1": 2 / 3,
    "recall@5": 2 / 3,
    "recall@20": 2 / 3,
  });
});

test("questions about one passage prove as much as one", () => {
  const groups = Array.from({ length: 20 }, (_, i) => Math.floor(i / 5));
  const one = [...all(1, 5), ...all(0.5, 15)]; // all that gained are about one of four passages
  const grouped = (step: number, ranks: readonly number[]) => {
    const { reported, ...rest } = record(step, ranks);
    return { ...rest, groups, reported: { ...reported!, groups } };
  };
  assert.is(chosenOf([record(0, all(0.5)), record(5, one)]).step, 5);
  assert.is(chosenOf([grouped(0, all(0.5)), grouped(5, one)]).step, 0);
  const { gain } = outcomeOf([grouped(0, all(0.5)), grouped(5, all(1))], NO_BM25, false);
  assert.equal(gain.interval, [0.5, 0.5]);
});

test("a question sees its versions of passages, and no other", async () => {
  const passages = ["a", "b", "a (2)"].map((id) => ({ id, title: "", text: `word of ${id}` }));
  const questions = [
    { question: "word", relevant: ["a"], about: ["a"] },
    { question: "word", relevant: ["a (2)"], about: ["a"], instead: [["a", "a (2)"]] as const },
    { question: "word", relevant: ["b"], about: ["a"], instead: [["a", null]] as const },
    { question: "word", relevant: ["b"] },
  ];
  const bm25 = (): Promise<Bm25> => buildBm25(passages);
  const { sees, groups, baseline } = await openMonitorSet(
    { questions, passages, every: 5 },
    { bm25 },
  );
  assert.equal(
    sees!.map((sight) => passages.filter((_, i) => sight(i)).map(({ id }) => id)),
    [["a", "b"], ["b", "a (2)"], ["b"], ["a", "b"]],
  );
  assert.equal(groups, [0, 0, 0, 1]);
  assert.is(baseline.measures.mrr, (1 + 1 / 2 + 1 + 1 / 2) / 4); // equal scores in their order
});

test("every second of many examples reports, and those about one passage are on one side", async () => {
  const passages = Array.from({ length: 30 }, (_, i) => ({
    id: `p${i}`,
    title: "",
    text: `word${i}`,
  }));
  // two questions about each passage; the second one names a word that is not in it
  const questions = passages.flatMap(({ id }, i) => [
    { question: `word${i}`, relevant: [id] },
    { question: "nothing", relevant: [id] },
  ]);
  const bm25 = (): Promise<Bm25> => buildBm25(passages);
  const set = await openMonitorSet({ questions, passages, every: 5 }, { bm25 });
  const { choosing, reporting } = divide(questions, set.reports);
  assert.equal([choosing.length, reporting.length], [30, 30]);
  const chosen = new Set(choosing.map(({ relevant }) => relevant[0]));
  assert.not(reporting.some(({ relevant }) => chosen.has(relevant[0])));
  assert.equal([set.baseline.measures.mrr, set.reportedBaseline!.mrr], [0.5, 0.5]);
});

const measures = (share: number) => ({ mrr: share, "recall@1": share });
const outcome: RunOutcome = {
  before: measures(25 / 200),
  after: measures(41 / 200),
  gain: { difference: 0.08, interval: [0.031, 0.1294] },
  bm25: measures(0.25),
  hybrid: {
    before: measures(0.3),
    after: measures(0.35),
    gain: { difference: 0.05, interval: [-0.004, 0.1] },
    weights: { lambda: 1, k1: 0.9, b: 0.4 },
  },
  reading: "unchanged",
  step: 60,
  kept: "trained",
  questions: 200,
  choseToo: false,
};
const FOUND =
  "R@1 25 → 41 of 200 held-out examples, MRR +8.0 points (95 % interval +3.1 to +12.9); " +
  "hybrid 60 → 70, +5.0 (−0.4 to +10.0); BM25 50; reading unchanged";

test("the verdict has the examples with the right passage first, and the interval of the gain", () => {
  assert.is(verdictOf({ outcome, step: 90 }), `gain: ${FOUND}`);
  assert.is(
    verdictOf({ outcome: { ...outcome, step: 1, kept: "token weights" }, step: 90 }),
    `gain (token weights alone): ${FOUND}`,
  );
  const reading = { before: 30, after: 29, questions: 60 };
  assert.match(
    verdictOf({ outcome: { ...outcome, reading }, step: 90 }),
    /; right answers from the right passage 30 → 29 of 60$/,
  );
  const none = { difference: 0, interval: [0, 0] } as const;
  const readingGain = { difference: 0.1, interval: [0.02, 0.18] } as const;
  const hybrid = { ...outcome.hybrid, gain: none };
  assert.match(
    verdictOf({ outcome: { ...outcome, gain: none, hybrid, reading, readingGain }, step: 90 }),
    /^gain in reading: /,
  );
});

test("the verdict is a gain only beyond chance", () => {
  const within = (low: number, high: number): string =>
    verdictOf({ outcome: { ...outcome, gain: { difference: 0, interval: [low, high] } }, step: 9 });
  assert.match(within(-0.01, 0.2), /^no clear gain: /);
  assert.match(within(0, 0.2), /^no clear gain: /);
  assert.match(within(0.01, 0.2), /^gain: /);
});

test("the verdict says if hybrid search alone gains beyond chance", () => {
  const of = (model: number, hybrid: number): string => {
    const gain = (low: number) => ({ difference: 0.02, interval: [low, 0.05] }) as const;
    const both = { gain: gain(model), hybrid: { ...outcome.hybrid, gain: gain(hybrid) } };
    return verdictOf({ outcome: { ...outcome, ...both }, step: 90 });
  };
  assert.match(of(-0.003, 0.003), /^gain in hybrid search: /);
  assert.match(of(0.003, 0.003), /^gain: /);
  assert.match(of(-0.003, -0.003), /^no clear gain: /);
});

test("the verdict says what was refused, and why", () => {
  const refused = {
    step: 60,
    kind: "trained",
    gain: { difference: 0.01, interval: [-0.02, 0.04] },
    hybrid: { difference: -0.059, interval: [-0.121, -0.013] },
  } as const;
  const unchanged = { ...outcome, step: 0, refused };
  assert.is(
    verdictOf({ outcome: unchanged, step: 90 }),
    "no gain, model unchanged: R@1 25 of 200 held-out examples; step 60 refused: " +
      "MRR +1.0 points (95 % interval −2.0 to +4.0), hybrid −5.9 (−12.1 to −1.3)",
  );
  const counted = {
    ...unchanged,
    refused: { ...refused, step: 1, kind: "token weights" },
  } as const;
  assert.match(verdictOf({ outcome: counted, step: 90 }), /; token weights refused: MRR \+1\.0/);
});

test("the verdict says when the examples are too easy to show a gain", () => {
  const easy = { ...outcome, before: measures(0.96) };
  assert.match(
    verdictOf({ outcome: easy, step: 90 }),
    /; 192 were first before, so these examples can show hardly any gain$/,
  );
});

test("the verdict on dev questions begins with their answers", () => {
  const right = (count: number) => [...all(1, count), ...all(0, 20 - count)];
  const asked = (step: number, answers: number, found: number) => ({
    ...record(step, right(found)),
    reported: undefined,
    exactMatch: right(answers),
    f1: right(answers),
  });
  const dev = (...models: MeasuredModel[]) =>
    verdictOf({
      outcome: outcomeOf(models, { reportedBaseline: { "recall@1": 0.25 } }, true),
      step: 50,
    });
  assert.match(
    dev(asked(0, 2, 5), asked(50, 12, 5)),
    /^gain: R@1 5 → 5 of 20 dev questions, which chose the model too, MRR \+0\.0 points .*; hybrid 5 → 5, .*; BM25 5; exact match 2 → 12, \+50\.0 \(/,
  );
  assert.match(dev(asked(0, 2, 5), asked(50, 2, 15)), /^gain in retrieval: /);
  assert.match(
    dev(asked(0, 2, 5), asked(50, 1, 15)),
    /^no gain, model unchanged: R@1 5 of 20 dev questions/,
  );
});

test("the verdict says when the steps were too few", () => {
  assert.match(verdictOf({ outcome, step: 28 }), /; 28 steps are too few to show a gain$/);
  assert.not.match(verdictOf({ outcome, step: 50 }), /too few/);
});

test("the verdict without a gain, and without held-out examples", () => {
  assert.is(
    verdictOf({ outcome: { ...outcome, step: 0 }, step: 90 }),
    "no gain, model unchanged: R@1 25 of 200 held-out examples",
  );
  const reading = { before: 30, after: 30, questions: 60 };
  assert.is(
    verdictOf({ outcome: { ...outcome, step: 0, reading }, step: 90 }),
    "no gain, model unchanged: R@1 25 of 200 held-out examples, right answers from the right passage 30 of 60",
  );
  assert.match(
    verdictOf({ outcome: { ...outcome, step: 0 }, step: 0 }),
    /^no time was left to train, model unchanged/,
  );
  assert.match(verdictOf({ step: 90 }), /^no verdict: too few examples/);
});

test.run();
