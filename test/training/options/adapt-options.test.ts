import { test } from "uvu";
import * as assert from "uvu/assert";
import { withAdaptDefaults } from "../../../src/training/options/adapt-options.ts";
import { TINY_MODELS, tinyConfig } from "../../support/tiny-model.ts";

const CONFIG = tinyConfig({ modelSize: 512 });
const TEN = { count: 10, haveAnswers: true };
const FILES = { model: "model", corpus: "corpus.jsonl", out: "out" };

test("what is not said follows from the corpus and the examples", () => {
  const { steps, candidatesPerQuestion, monitorSteps } = withAdaptDefaults(
    FILES,
    { ...TEN, count: 3_200 },
    500,
    CONFIG,
  );
  assert.equal([steps, candidatesPerQuestion, monitorSteps], [200, 4, 20]);
  assert.is(withAdaptDefaults(FILES, TEN, 3, CONFIG).candidatesPerQuestion, 3);
  assert.is(withAdaptDefaults(FILES, TEN, 3, CONFIG).steps, 50);
  assert.is(withAdaptDefaults(FILES, { ...TEN, count: 1e6 }, 2e5, CONFIG).steps, 1_000);
});

test("with questions and answers, the reader teaches, unless it is trained itself", () => {
  const objectiveOf = (options: object) =>
    withAdaptDefaults({ ...FILES, ...options }, TEN, 10, CONFIG).objective;
  assert.is(objectiveOf({}), "likelihood");
  assert.is(objectiveOf({ train: "query" }), "likelihood");
  for (const train of ["all", "joint", "reader"]) assert.is(objectiveOf({ train }), "supervised");
  assert.is(
    withAdaptDefaults({ ...FILES, objective: "distillation" }, TEN, 10, CONFIG).objective,
    "distillation",
  );
});

test("without them, retrieval is trained, unless a part that reads is", () => {
  const objectiveOf = (options: object) =>
    withAdaptDefaults({ ...FILES, ...options }, { count: 10, haveAnswers: false }, 10, CONFIG)
      .objective;
  assert.is(objectiveOf({}), "retrieval");
  assert.is(objectiveOf({ minutes: 5 }), "retrieval");
  assert.is(objectiveOf({ train: "reader" }), "supervised");
  assert.is(objectiveOf({ objective: "supervised" }), "supervised");
});

test("the learning rate falls with the width of the model", () => {
  const rateOf = (modelSize: number) =>
    withAdaptDefaults(FILES, TEN, 10, tinyConfig({ modelSize })).learningRate;
  assert.equal([1024, 512, 256, 16].map(rateOf), [5e-5, 1e-4, 2e-4, 4e-4]);
  assert.is(
    withAdaptDefaults({ ...FILES, learningRate: 3e-3 }, TEN, 10, CONFIG).learningRate,
    3e-3,
  );
  const rate = (options: object) =>
    withAdaptDefaults({ ...FILES, ...options }, TEN, 10, TINY_MODELS.backbone!).learningRate;
  assert.equal([rate({}), rate({ train: "head" })], [2e-5, 1e-3]);
});

test("the retrieval head alone has its own objective and learning rate", () => {
  const { objective, learningRate } = withAdaptDefaults(
    { ...FILES, train: "head" },
    TEN,
    10,
    CONFIG,
  );
  assert.equal([objective, learningRate], ["retrieval", 1e-3]);
});

test("with a time limit, steps are short", () => {
  const timed = { ...FILES, minutes: 8 };
  const { objective, questions, candidatesPerQuestion, maxPassageTokens } = withAdaptDefaults(
    timed,
    TEN,
    10,
    CONFIG,
  );
  assert.equal(
    [objective, questions, candidatesPerQuestion, maxPassageTokens],
    ["likelihood", 32, 2, 192],
  );
  const given = { ...timed, objective: "qa", questions: 3, maxPassageTokens: 50 } as const;
  const kept = withAdaptDefaults(given, TEN, 10, CONFIG);
  assert.equal([kept.objective, kept.questions, kept.maxPassageTokens], ["qa", 3, 50]);
  assert.throws(
    () => withAdaptDefaults({ ...timed, iterations: 2 }, TEN, 10, CONFIG),
    /^minutes: expected one iteration, got 2/,
  );
});

test("a model is not written over itself", () => {
  assert.throws(
    () => withAdaptDefaults({ ...FILES, out: "./model" }, TEN, 10, CONFIG),
    /another folder than the model's/,
  );
});

test.run();
