/** The losses of phrase queries: values by loops, gradients by central differences. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { phraseQueries } from "../../../src/encoder/phrase-queries.ts";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import { buildParameters, isOfPhraseQueries } from "../../../src/model/parameter-names.ts";
import type { Ops, Tensor } from "../../../src/tensor/ops.ts";
import { compile } from "../../../src/tensor/session.ts";
import { parameterState } from "../../../src/training/engine/optimizer.ts";
import { passageLoss, searchLoss } from "../../../src/training/objectives/phrases.ts";
import {
  padStates,
  tracePassageLoss,
  traceSearchLoss,
} from "../../../src/training/phrases/trainer.ts";
import { assertNear } from "../../support/arrays.ts";
import { centralDifferences } from "../../support/central-differences.ts";
import { drawn } from "../../support/draws.ts";
import { type NaiveTensor, naiveOps } from "../../support/naive-ops.ts";
import { randomWeights, tinyConfig } from "../../support/tiny-model.ts";

const config = tinyConfig({ modelSize: 5, headSize: 4, heads: 2, phraseQueries: true });
const NORM = "joint.0.layer.0.layer.0.layer_norm.weight";
const weights = randomWeights(config, "phrases");
const parameters = new Map(
  buildNames().map(([name, shape]) => [name, parameterState(shape, weights.get(name)!)]),
);

function buildNames(): [name: string, shape: readonly number[]][] {
  const names: [string, readonly number[]][] = [];
  buildParameters(config, (name, shape) => names.push([name, shape]));
  return names.filter(([name]) => isOfPhraseQueries(name));
}

const tensor = (shape: readonly number[], ...values: number[]): Tensor => ({
  data: Float32Array.from(values),
  shape,
});
const states = padStates(
  [3, 1, 2].map((tokens) => drawn([tokens, 5], -2, 2, "states").data as Float32Array),
  5,
);
const [Q, T, N, D] = [3, 6, 3, 4];
const passage = {
  keys: drawn([T, D], -1, 1, "keys"),
  // Two questions are about the passage of the tokens 0 to 3.
  answers: tensor([Q, 2, T], ...oneHot(1, 3, 0, 0, 4, 5)),
  own: tensor([Q, 1, T], 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1),
  weights: tensor([Q], 1 / 3, 1 / 3, 1 / 3),
};
const search = {
  starts: drawn([Q, N, D], -1, 1, "starts"),
  ends: drawn([Q, N, D], -1, 1, "ends"),
  // Two correct phrases, none, and one among two phrases.
  correct: tensor([Q, N], 1, 0, 1, 0, 0, 0, 0, 1, 0),
  present: tensor([Q, N], 1, 1, 1, 1, 1, 1, 1, 1, 0),
  weights: tensor([Q], 1 / 2, 0, 1 / 2),
};

function oneHot(...positions: number[]): number[] {
  return positions.flatMap((at) => Array.from({ length: 6 }, (_, t) => Number(t === at)));
}

/** The phrase queries of the model above with these weights. */
function vectorsOf<T>(ops: Ops<T>, values: (name: string) => T, [x, mask]: [T, T]): T {
  const model = buildParameters(config, (name) =>
    name === NORM || isOfPhraseQueries(name) ? values(name) : (undefined as T),
  );
  return phraseQueries(inferenceContext(ops, config), model, x, mask);
}

const weightOf = (name: string): Tensor => ({
  data: weights.get(name)!,
  shape: parameters.get(name)?.shape ?? [5],
});
const VECTORS = vectorsOf(naiveOps, weightOf, [states.states, states.mask]);
const at = ({ data, shape }: Tensor | NaiveTensor, i: number, j: number): number[] =>
  Array.from({ length: shape[2]! }, (_, d) => data[(i * shape[1]! + j) * shape[2]! + d]!);
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, x, d) => sum + x * b[d]!, 0);
const logSum = (values: readonly number[]): number =>
  Math.log(values.reduce((sum, value) => sum + Math.exp(value), 0));

test("phrase queries pool the tokens of a question, without its padding", () => {
  for (const [i, tokens] of [3, 1, 2].entries())
    for (const [row, side] of ["start", "end"].entries()) {
      const x = Array.from({ length: tokens }, (_, t) => at(states.states, i, t)).map((state) => {
        const scale = Math.sqrt(dot(state, state) / 5 + 1e-6);
        return state.map((value, d) => (value / scale) * weights.get(NORM)![d]!);
      });
      const pool = weights.get(`phrase_query.${side}.pool.weight`)!;
      const projection = weights.get(`phrase_query.${side}.projection.weight`)!;
      const pooled = [0, 1].flatMap((head) => {
        const logits = x.map((token) => dot(token, [...pool.slice(5 * head, 5 * head + 5)]));
        const shares = logits.map((logit) => Math.exp(logit - logSum(logits)));
        return Array.from({ length: 5 }, (_, d) =>
          shares.reduce((sum, share, t) => sum + share * x[t]![d]!, 0),
        );
      });
      const expected = [0, 1, 2, 3].map((d) =>
        dot(pooled, [...projection.slice(10 * d, 10 * d + 10)]),
      );
      assertNear(at(VECTORS, i, row), expected, 1e-6);
    }
});

test("the passage loss is that of loops", () => {
  let expected = 0;
  for (let i = 0; i < Q; i++)
    for (let row = 0; row < 2; row++) {
      const key = (t: number) => [...passage.keys.data.slice(t * D, (t + 1) * D)];
      const logits = Array.from({ length: T }, (_, t) => dot(at(VECTORS, i, row), key(t)));
      const gold = [1, 3, 0, 0, 4, 5][2 * i + row]!;
      const own = i < 2 ? logits.slice(0, 4) : logits.slice(4);
      expected += (logSum(own) + logSum(logits) - 2 * logits[gold]!) / 3;
    }
  assertNear(passageLoss(naiveOps, VECTORS, passage).data, [expected], 1e-6);
});

test("the search loss is the marginal likelihood of the correct phrases", () => {
  const score = (i: number, p: number) =>
    dot(at(VECTORS, i, 0), at(search.starts, i, p)) + dot(at(VECTORS, i, 1), at(search.ends, i, p));
  const first = logSum([0, 1, 2].map((p) => score(0, p))) - logSum([score(0, 0), score(0, 2)]);
  const last = logSum([score(2, 0), score(2, 1)]) - score(2, 1);
  assertNear(searchLoss(naiveOps, VECTORS, search).data, [(first + last) / 2], 1e-6);
});

const CASES = {
  passage: { graph: tracePassageLoss(config, parameters), input: passage },
  search: { graph: traceSearchLoss(config, parameters), input: search },
};

for (const name of ["passage", "search"] as const)
  test(`the gradients of the ${name} loss are those of central differences`, async () => {
    const { graph, input } = CASES[name];
    await using session = await compile(graph, {
      threads: 1,
      weights: new Map([[NORM, weights.get(NORM)!]]),
    });
    const names = [...parameters.keys()];
    const values = names.map(weightOf);
    const results = await session.run({
      ...{ ...states, ...input },
      ...Object.fromEntries(names.map((one, i) => [one, values[i]!])),
    });
    const lossOf = (ops: Ops<NaiveTensor>, ...given: NaiveTensor[]): NaiveTensor => {
      const tensorOf = (one: string) => (one === NORM ? weightOf(one) : given[names.indexOf(one)]!);
      const vectors = vectorsOf(ops, tensorOf, [states.states, states.mask]);
      return name === "passage"
        ? passageLoss(ops, vectors, passage)
        : searchLoss(ops, vectors, search);
    };
    const expected = centralDifferences(lossOf, values);
    assertNear(results.loss!.data, lossOf(naiveOps, ...values).data, 1e-5);
    for (const [i, one] of names.entries()) {
      assert.ok(expected[i]!.some((value) => Math.abs(value) > 1e-3));
      assertNear(results[`gradient:${one}`]!.data, expected[i]!, 1e-5);
    }
  });

test.run();
