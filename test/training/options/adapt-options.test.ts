import { test } from "uvu";
import * as assert from "uvu/assert";
import { withAdaptDefaults } from "../../../src/training/options/adapt-options.ts";

const FILES = { model: "model", corpus: "corpus.jsonl", out: "out" };

test("what is not said follows from the corpus and the examples", () => {
  const { steps, candidatesPerQuestion, monitorSteps } = withAdaptDefaults(FILES, 3_200, 500);
  assert.equal([steps, candidatesPerQuestion, monitorSteps], [200, 4, 20]);
  assert.is(withAdaptDefaults(FILES, 10, 3).candidatesPerQuestion, 3);
  assert.is(withAdaptDefaults(FILES, 10, 3).steps, 50);
  assert.is(withAdaptDefaults(FILES, 1e6, 2e5).steps, 1_000);
});

test("the target is what is known to be relevant, unless another objective is asked for", () => {
  assert.is(withAdaptDefaults(FILES, 10, 10).objective, "supervised");
  assert.is(
    withAdaptDefaults({ ...FILES, objective: "distillation" }, 10, 10).objective,
    "distillation",
  );
});

test("a model is not written over itself", () => {
  assert.throws(
    () => withAdaptDefaults({ ...FILES, out: "./model" }, 10, 10),
    /another folder than the model's/,
  );
});

test.run();
