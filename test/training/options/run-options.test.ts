/** The options of train and adapt: what the library checks, and what the records of a run show. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { infoOf, isRequired } from "../../../src/options/option.ts";
import { cardEntries } from "../../../src/options/records.ts";
import {
  ADAPT_OPTIONS,
  type AdaptOptions,
  requestedSources,
  withAdaptDefaults,
} from "../../../src/training/options/adapt-options.ts";
import {
  TRAIN_OPTIONS,
  type TrainOptions,
  withDefaults,
} from "../../../src/training/options/train-options.ts";
import { decisionsOf, resolveRun } from "../../../src/training/run/run.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { runOf } from "../../support/training.ts";

const EXAMPLES = { count: 100, haveAnswers: true };
const FILES = { model: "model", corpus: "corpus.jsonl", data: "data.jsonl", out: "out" };

const rejects = (message: RegExp, work: () => unknown) =>
  assert.throws(work, (error: Error) => error instanceof InputError && message.test(error.message));

test("the decisions of a run, which a resumed run must repeat", () => {
  assert.equal(decisionsOf(runOf(FILES)), {
    ...{ train: "all", objective: "distillation", alpha: 8, copyAttention: 0, phraseLoss: 0 },
    ...{ inBatchNegatives: true, scoreTemperature: 1, questions: 16, candidatesPerQuestion: 8 },
    ...{ nullPassage: false, preBatch: 0, maxPassageTokens: 512, maxAnswerTokens: 64 },
    ...{ iterations: 1, steps: 500, qaSteps: 0, learningRate: 5e-5 },
    ...{ warmUp: 0.1, refresh: "iterations", refreshSteps: 200, weightDecay: 0.01, clipNorm: 1 },
    ...{ dropout: 0.1, seed: 0, engine: "onnxruntime", retrievalHead: 2 },
  });
  // How a run goes on, and what it measures, may change.
  const other = { ...FILES, resume: true, provider: "webgpu", dev: "dev.jsonl" } as const;
  assert.equal(decisionsOf(runOf(other)), decisionsOf(runOf(FILES)));
});

test("what follows from the objective, the part and the model", () => {
  const retrieval = runOf({ ...FILES, objective: "retrieval" });
  assert.equal([retrieval.part, retrieval.keepsIndex], ["retrieval", false]);
  const query = runOf({ ...FILES, train: "query" });
  assert.equal([query.keepsIndex, query.config.queryEncoder], [true, undefined]);
  assert.is(runOf({ ...FILES, train: "query", layers: 1 }).config.queryEncoder, true);
  assert.is(runOf({ ...FILES, train: "reader" }).keepsIndex, true);
  const { batch } = runOf({ ...FILES, objective: "marginal" });
  assert.is(batch.nullPassage, true);
  const without = { ...FILES, objective: "marginal", nullPassage: false } as const;
  assert.is(runOf({ ...without, candidatesPerQuestion: 1 }).batch.nullPassage, false);
  const start = { config: tinyConfig(), hasWeights: false, namesHead: false };
  const startOf = (options: Partial<TrainOptions>, changes: object) =>
    resolveRun(withDefaults({ ...FILES, ...options }), { ...start, ...changes }, { size: 100 });
  // A model with weights whose configuration names no head learns which one retrieves.
  assert.is(startOf({}, { hasWeights: true }).tau, start.config.distillationTau);
  assert.is(startOf({}, { hasWeights: true, namesHead: true }).tau, undefined);
  assert.is(startOf({ train: "query" }, { hasWeights: true }).tau, undefined);
});

test("an unknown option, a missing one and a value out of range", () => {
  const { data: _, ...incomplete } = FILES;
  rejects(/^options: expected names among model, .*, got "probeHeads"/, () =>
    withDefaults({ ...FILES, probeHeads: true } as TrainOptions),
  );
  rejects(/^data: expected a path as text, got nothing;/, () =>
    withDefaults(incomplete as TrainOptions),
  );
  rejects(/^steps: expected a whole number from 1 on, got 0;/, () =>
    withDefaults({ ...FILES, steps: 0 }),
  );
  rejects(/^dropout: expected a number from 0 to below 1, got 1;/, () =>
    withDefaults({ ...FILES, dropout: 1 }),
  );
  rejects(/^tau: expected a number above 0, got 0;/, () => withDefaults({ ...FILES, tau: 0 }));
  rejects(/^objective: expected distillation, .*, qa, retrieval, got 'rank';/, () =>
    withDefaults({ ...FILES, objective: "rank" } as never),
  );
  rejects(/^options: .* got "epochs"/, () =>
    requestedSources({ ...FILES, epochs: 1 } as AdaptOptions),
  );
  rejects(/^weights\.questions: expected a number above 0/, () =>
    requestedSources({ ...FILES, weights: { questions: 0 } }),
  );
  rejects(/^tagger: expected a function, got 'names';/, () =>
    requestedSources({ ...FILES, tagger: "names" } as never),
  );
  assert.is(withDefaults({ ...FILES, steps: undefined }).steps, 500);
});

test("options of masked sentences without the source spans", () => {
  const files = { model: "m", corpus: "c", out: "o" };
  const tagger = () => [];
  rejects(/^tagger: expected the source spans, got questions; /, () =>
    requestedSources({ ...files, data: "d", tagger }),
  );
  const chosen = { ...files, tagger };
  const { named } = requestedSources({ ...chosen, sources: ["spans"] });
  assert.equal(
    named.map(({ name }) => name),
    ["spans"],
  );
  assert.ok(requestedSources(chosen).automatic);
});

test("options that contradict each other", () => {
  for (const defaulted of [
    (options: object) => withDefaults({ ...FILES, ...options }),
    (options: object) =>
      withAdaptDefaults({ ...FILES, ...options }, EXAMPLES, 100, tinyConfig({ modelSize: 512 })),
  ]) {
    rejects(/^candidatesPerQuestion: expected 2 or more/, () =>
      defaulted({ objective: "marginal", candidatesPerQuestion: 1 }),
    );
    for (const objective of ["marginal", "retrieval"])
      rejects(/^copyAttention: expected the objective distillation, supervised or qa, got/, () =>
        defaulted({ objective, copyAttention: 1 }),
      );
    rejects(/^qaSteps: expected the objective distillation, .* got the objective retrieval/, () =>
      defaulted({ objective: "retrieval", qaSteps: 3 }),
    );
    for (const other of [{ inBatchNegatives: false }, { refresh: "background" }])
      rejects(/^preBatch: expected in-batch neg/, () => defaulted({ preBatch: 1, ...other }));
    rejects(/^preBatch: expected the objective/, () => defaulted({ preBatch: 1, objective: "qa" }));
    rejects(/^layers: expected train retrieval, joint or query, got layers 1/, () =>
      defaulted({ objective: "supervised", layers: 1 }),
    );
    assert.is(defaulted({ objective: "retrieval", layers: 1 }).layers, 1);
  }
});

test("train and adapt have the same options, except those of their data", () => {
  const names = (table: object, other: object) =>
    Object.keys(table)
      .filter((name) => !(name in other))
      .sort();
  assert.equal(names(TRAIN_OPTIONS, ADAPT_OPTIONS), ["holdOut"]);
  assert.equal(names(ADAPT_OPTIONS, TRAIN_OPTIONS), [
    ...["average", "encoding", "ignore", "include", "index", "keepCheckpoint"],
    ...["overlapWords", "passageWords", "qrels", "queries"],
    ...["sources", "splitRecords", "tableHeader", "weights"],
  ]);
  for (const table of [TRAIN_OPTIONS, ADAPT_OPTIONS])
    for (const [name, schema] of Object.entries(table)) {
      assert.match(infoOf(schema).help, /^.{8,140}$/, name);
      if (isRequired(schema)) assert.ok(name in FILES);
    }
});

test("a model card shows what describes the model", () => {
  const options = withAdaptDefaults(
    { ...FILES, weights: { questions: 2 }, seed: 3 },
    EXAMPLES,
    100,
    tinyConfig({ modelSize: 512 }),
  );
  const entries = new Map(cardEntries(ADAPT_OPTIONS, { ...options }));
  assert.equal([entries.get("seed"), entries.get("alpha")], ["3", "1"]);
  assert.is(entries.get("weights"), '{"questions":2}');
  for (const name of ["model", "corpus", "out", "resume", "dryRun", "tau", "signal", "tagger"])
    assert.not.ok(entries.has(name), name);
});

/** The options of an adaptation of 100 examples and 100 passages. */
const adapted = (given: AdaptOptions) =>
  withAdaptDefaults({ ...given, ...FILES }, EXAMPLES, 100, tinyConfig({ modelSize: 288 }));

test("an option that has no effect beside the others is an error, unless it has its default", () => {
  const cases: readonly [TrainOptions & AdaptOptions, RegExp][] = [
    [
      { ...FILES, refreshSteps: 5 },
      /^refreshSteps: expected refresh background, got refreshSteps 5 without it/,
    ],
    [{ ...FILES, nullPassage: false }, /^nullPassage: expected the objective marginal, got/],
    [{ ...FILES, scoreTemperature: 2 }, /^scoreTemperature: expected the objective retrieval/],
    [
      { ...FILES, alpha: 2, objective: "qa" },
      /^alpha: expected the objective distillation, supervised or likelihood, got/,
    ],
    [{ ...FILES, alpha: 2, objective: "marginal" }, /^alpha: expected the objective/],
    [{ ...FILES, alpha: 2, objective: "retrieval" }, /^alpha: expected the objective/],
    [
      { ...FILES, devQuestions: 5 },
      /^devQuestions: expected dev, .* leave the option out, or give/,
    ],
  ];
  for (const [options, message] of cases) {
    rejects(message, () => withDefaults(options));
    rejects(message, () => adapted(options));
  }
  withDefaults({ ...FILES, refreshSteps: 200, alpha: 8, objective: "qa", devQuestions: 200 });
  adapted({ ...FILES, alpha: 1, objective: "qa" });
  withDefaults({ ...FILES, refreshSteps: 5, refresh: "background", dev: "d", devQuestions: 5 });
});

test.run();
