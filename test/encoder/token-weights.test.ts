/** Weights of the tokens of questions, against plain loops over the vectors without them. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { padBatch } from "../../src/encoder/batching.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { vectorSize, withAttention } from "../../src/model/config.ts";
import { TOKEN_WEIGHTS } from "../../src/model/parameter-names.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveT5 } from "../support/naive-t5.ts";
import {
  randomIds,
  randomWeights,
  TINY_MODELS,
  tinyConfig,
  withChanges,
} from "../support/tiny-model.ts";

const TOLERANCE = 2e-6; // float32 through a few layers
const config = tinyConfig({ tokenWeights: true });
const weights = randomWeights(config, "token weights");
const questions = [1, 9, 4].map((length) => [...randomIds(config, length, "q", length), 1]);
const weightOf = (id: number): number => Math.exp(weights.get(TOKEN_WEIGHTS)![id]!);
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, x, i) => sum + x * b[i]!, 0);

test("the mean over query vectors is the weighted mean over tokens", async () => {
  const naive = naiveT5(config, weights);
  const passage = [...randomIds(config, 12, "p"), 1];
  const keys = naive.retrieval("k", naive.lower([], passage));
  await using encoder = await openRetrieverSession(config, { weights });
  const encoded = await encodeSequences(encoder, config, questions, "queries");
  questions.forEach((ids, i) => {
    const best = naive
      .retrieval("q", naive.lower(ids, []))
      .map((query) => Math.max(...keys.map((key) => dot(query, key))));
    const total = ids.reduce((sum, id) => sum + weightOf(id), 0);
    const expected = ids.reduce((sum, id, token) => sum + weightOf(id) * best[token]!, 0) / total;

    const size = vectorSize(config);
    const rows = ids.map((_, token) =>
      Array.from(encoded[i]!.subarray(token * size, (token + 1) * size)),
    );
    const maxima = rows.map((query) => Math.max(...keys.map((key) => dot(query, key))));
    assertNear([maxima.reduce((sum, x) => sum + x, 0) / ids.length], [expected], 1e-5);
  });
});

test("padding changes nothing, and equal weights are none", async () => {
  const even = new Map(weights).set(TOKEN_WEIGHTS, new Float32Array(config.vocabularySize).fill(2));
  const plain = withChanges(config, { tokenWeights: false });
  await using weighted = await openRetrieverSession(config, { weights });
  await using equal = await openRetrieverSession(config, { weights: even });
  await using without = await openRetrieverSession(plain, { weights });
  const alone = await encodeSequences(weighted, config, questions, "queries");
  for (const side of ["left", "right"] as const) {
    const { queries } = await weighted.encode(padBatch(questions, side, 0), ["queries"]);
    const [, length, size] = queries.shape as [number, number, number];
    questions.forEach((ids, i) => {
      const first = (i * length + (side === "left" ? length - ids.length : 0)) * size;
      const row = (queries.data as Float32Array).subarray(first, first + ids.length * size);
      assertNear(row, alone[i]!, TOLERANCE, side);
    });
  }
  const expected = await encodeSequences(without, plain, questions, "queries");
  const actual = await encodeSequences(equal, config, questions, "queries");
  actual.forEach((values, i) => {
    assertNear(values, expected[i]!, TOLERANCE);
  });
});

test("keys have no weights, with a query encoder and a backbone too", async () => {
  const base = withAttention(config, () => ({ tokenWeights: false }));
  for (const shape of [base, { ...base, queryEncoder: true }, TINY_MODELS["joint layers"]!]) {
    const weighted = withAttention(shape, () => ({ tokenWeights: true }));
    const values = randomWeights(weighted, "keys");
    await using one = await openRetrieverSession(weighted, { weights: values });
    await using other = await openRetrieverSession(shape, { weights: values });
    const keys = await encodeSequences(one, weighted, questions, "keys");
    assert.equal(keys, await encodeSequences(other, shape, questions, "keys"));
    const queries = await encodeSequences(one, weighted, questions, "queries");
    assert.not.equal(queries, await encodeSequences(other, shape, questions, "queries"));
  }
});

test.run();
