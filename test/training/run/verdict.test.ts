import { test } from "uvu";
import * as assert from "uvu/assert";
import { verdictOf } from "../../../src/training/run/verdict.ts";

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
  reductions: [],
};

test("the examples with the right passage first, before and after", () => {
  assert.is(
    verdictOf({ monitor, step: 90 }),
    "R@1 25 → 41 of 200 held-out examples; hybrid 60 → 70, BM25 50",
  );
});

test("with the token weights alone", () => {
  assert.is(
    verdictOf({ monitor: { ...monitor, step: 1, taken: true }, step: 90 }),
    "no gain from training, token weights counted: " +
      "R@1 25 → 41 of 200 held-out examples; hybrid 60 → 70, BM25 50",
  );
});

test("without a gain, and without held-out examples", () => {
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
