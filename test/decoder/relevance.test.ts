import { test } from "uvu";
import * as assert from "uvu/assert";
import { relevances } from "../../src/decoder/relevance.ts";
import { assertNear } from "../support/arrays.ts";
import { TINY_MODELS } from "../support/tiny-model.ts";

const [config] = Object.values(TINY_MODELS);

test("a worked example: beta 2, scale 20, and no term below -2", () => {
  const model = { ...config!, relevanceWeight: 2, retrievalScale: 20 };
  assertNear(relevances(model, [0.47, 0.5, 0.25])!, [-1.2, 0, -2], 1e-12);
  assert.equal(relevances(model, [0.3]), [0]);
});

test("the posterior of passages with equal attention is that of MARGE", () => {
  const scores = [0.45, 0.5, 0.41];
  const terms = relevances({ ...config!, relevanceWeight: 1, retrievalScale: 20 }, scores)!;
  const share = (values: readonly number[]): number[] => {
    const sum = values.reduce((total, value) => total + Math.exp(value), 0);
    return values.map((value) => Math.exp(value) / sum);
  };
  assertNear(share(terms), share(scores.map((score) => 20 * score)), 1e-12);
});

test("without a weight, all passages are alike", () => {
  assert.is(relevances({ ...config!, relevanceWeight: undefined }, [0.4, 0.5]), undefined);
});

test.run();
