/** The options of train and adapt: what the library checks, and what the records of a run show. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import type { ModelConfig } from "../../../src/model/config.ts";
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
import { planOf } from "../../../src/training/run/run-plan.ts";

const FILES = { model: "model", corpus: "corpus.jsonl", data: "data.jsonl", out: "out" };
const planWith = (options: Partial<TrainOptions> = {}) =>
  planOf(
    withDefaults({ ...FILES, ...options }),
    { retrievalHead: 6 } as ModelConfig,
    new Map(),
    "d",
    "c",
  );

const rejects = (message: RegExp, work: () => unknown) =>
  assert.throws(work, (error: Error) => error instanceof InputError && message.test(error.message));

test("the names and values of a plan on disk", () => {
  const { model, ...plan } = planWith();
  assert.match(String(model), /^[0-9a-f]{64}$/);
  assert.equal(plan, {
    ...{ unsupervisedSteps: 1000, iterations: 1, steps: 500, qaSteps: 0, questions: 16 },
    ...{ closePassages: 8, nullPassage: "none", objective: "distillation", alpha: 8 },
    ...{ candidates: "batch", retrievalHead: 6, tau: "fixed head", trained: "all" },
    ...{ learningRate: 5e-5, dropout: "of the model", maxPassageTokens: 512 },
    ...{ maxAnswerTokens: 64, engine: "onnxruntime", seed: 0, data: "d", corpus: "c" },
    lossVersion: 3,
  });
});

test("a plan has these entries only where they matter", () => {
  const plan = planWith({
    ...{ copyAttention: 0.5, inBatchNegatives: false, refresh: "background", tau: 0.1 },
    ...{ nullPassage: true, dropout: 0, qaSteps: 3 },
  });
  assert.is(plan.pointer, 0.5);
  assert.equal([plan.refresh, plan.refreshSteps], ["background", 200]);
  assert.equal([plan.candidates, plan.nullPassage], ["own", "one"]);
  assert.equal([plan.tau, plan.dropout, plan.qaSteps], [0.1, 0, 3]);
  assert.is(planWith({ refresh: "none" }).refresh, "none");
  assert.is(planWith({ copies: "each" }).copies, "each");
  assert.is(planWith({ preBatch: 2 }).preBatch, 2);
  assert.is(planWith({ workers: 2 }).workers, 2);
  assert.is(planWith({ objective: "retrieval", phraseLoss: 2 }).phraseLoss, 2);
  assert.is(planWith({ objective: "retrieval", scoreTemperature: 4 }).scoreTemperature, 4);
  assert.is(planWith({ querySide: "layers" }).trained, "query encoder");
  assert.is(planWith({ querySide: "projection" }).trained, "query side");
  assert.equal(planWith({ resume: true, provider: "webgpu", dev: "dev.jsonl" }), planWith());
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
  rejects(/^options: .* got "selectHead"/, () =>
    requestedSources({ ...FILES, selectHead: true } as AdaptOptions),
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
  rejects(/^sourcePassage: expected the source spans, got crops, titles; add spans to the/, () =>
    requestedSources({ ...files, sources: ["crops", "titles"], sourcePassage: "excluded" }),
  );
  rejects(/^tagger: expected the source spans, got questions; /, () =>
    requestedSources({ ...files, data: "d", tagger }),
  );
  rejects(/^sourcePassage: expected masked sentences of the corpus, got sentences of another/, () =>
    requestedSources({ ...files, sources: ["spans"], sentences: "s", sourcePassage: "excluded" }),
  );
  const chosen = { ...files, sourcePassage: "excluded", tagger } as const;
  assert.equal(requestedSources({ ...chosen, sources: ["spans"] }).named, ["spans"]);
  assert.ok(requestedSources(chosen).automatic);
});

test("options that contradict each other", () => {
  for (const defaulted of [
    (options: object) => withDefaults({ ...FILES, ...options }),
    (options: object) => withAdaptDefaults({ ...FILES, ...options }, 100, 100, { modelSize: 512 }),
  ]) {
    rejects(/^candidatesPerQuestion: expected 2 or more/, () =>
      defaulted({ objective: "marginal", candidatesPerQuestion: 1 }),
    );
    rejects(/^copyAttention: expected 0 with the objective marginal/, () =>
      defaulted({ objective: "marginal", copyAttention: 1 }),
    );
    for (const other of [{ objective: "qa" }, { tau: 0.1 }, { qaSteps: 1 }])
      rejects(/^query side: expected one head/, () => defaulted({ querySide: "layers", ...other }));
    rejects(/^copyAttention: expected 0 with the objective retrieval/, () =>
      defaulted({ objective: "retrieval", copyAttention: 1 }),
    );
    rejects(/^qaSteps: expected 0 with the objective retrieval.* got 3/, () =>
      defaulted({ objective: "retrieval", qaSteps: 3 }),
    );
    for (const other of [
      { objective: "qa" },
      { inBatchNegatives: false },
      { refresh: "background" },
    ])
      rejects(/^preBatch: expected an objective/, () => defaulted({ preBatch: 1, ...other }));
    assert.is(defaulted({ objective: "retrieval", querySide: "layers" }).preBatch, 0);
    assert.is(defaulted({ objective: "marginal" }).nullPassage, true);
    assert.is(defaulted({}).nullPassage, false);
  }
  rejects(/^query side: .* got another head/, () =>
    withDefaults({ ...FILES, querySide: "projection", selectHead: true }),
  );
});

test("train and adapt have the same options, except those of their data", () => {
  const names = (table: object, other: object) =>
    Object.keys(table)
      .filter((name) => !(name in other))
      .sort();
  assert.equal(names(TRAIN_OPTIONS, ADAPT_OPTIONS), ["selectHead", "unsupervisedSteps"]);
  assert.equal(names(ADAPT_OPTIONS, TRAIN_OPTIONS), [
    ...["dryRun", "keepCheckpoint", "minutes", "monitorSteps", "overlapWords", "passageWords"],
    ...["qrels", "queries", "sentences", "sourcePassage", "sources", "spans", "splitRecords"],
    "weights",
  ]);
  for (const table of [TRAIN_OPTIONS, ADAPT_OPTIONS])
    for (const [name, schema] of Object.entries(table)) {
      assert.match(infoOf(schema).help, /^.{10,140}$/, name);
      if (isRequired(schema)) assert.ok(name in FILES);
    }
});

test("a model card shows what describes the model", () => {
  const options = withAdaptDefaults({ ...FILES, weights: { questions: 2 }, seed: 3 }, 100, 100, {
    modelSize: 512,
  });
  const entries = new Map(cardEntries(ADAPT_OPTIONS, { ...options }));
  assert.equal([entries.get("seed"), entries.get("alpha")], ["3", "1"]);
  assert.is(entries.get("weights"), '{"questions":2}');
  for (const name of ["model", "corpus", "out", "resume", "dryRun", "tau", "signal", "tagger"])
    assert.not.ok(entries.has(name), name);
});

/** The options of an adaptation of 100 examples and 100 passages. */
const adapted = (given: AdaptOptions) =>
  withAdaptDefaults({ ...given, ...FILES }, 100, 100, { modelSize: 288 });

test("an option that has no effect beside the others is an error, unless it has its default", () => {
  const cases: readonly [TrainOptions & AdaptOptions, RegExp][] = [
    [
      { ...FILES, refreshSteps: 5 },
      /^refreshSteps: expected refresh background, got refreshSteps 5/,
    ],
    [{ ...FILES, scoreTemperature: 2 }, /^scoreTemperature: expected the objective retrieval/],
    [{ ...FILES, alpha: 2, objective: "qa" }, /^alpha: expected the objective distillation or s/],
    [{ ...FILES, alpha: 2, objective: "marginal" }, /^alpha: expected the objective/],
    [{ ...FILES, alpha: 2, objective: "retrieval" }, /^alpha: expected the objective/],
    [{ ...FILES, copies: "each", objective: "qa" }, /^copies: expected an objective with in-batch/],
    [{ ...FILES, workers: 2, engine: "tensorflow" }, /^workers: expected the engine onnxruntime/],
    [{ ...FILES, devQuestions: 5 }, /^devQuestions: expected dev, .* leave the option out, or add/],
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
