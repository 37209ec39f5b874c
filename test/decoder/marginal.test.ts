/**
 * The marginal reader: compared with a double loop over passages and candidates, in which each
 * likelihood is a run of plain float64 loops by itself.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { answerLogLikelihoods } from "../../src/decoder/answer-likelihoods.ts";
import { logPriorsOf, type MarginalInput, readMarginal } from "../../src/decoder/marginal.ts";
import { fuseInputs, read } from "../../src/decoder/reader.ts";
import { openReaderSession } from "../../src/decoder/reader-session.ts";
import { openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveProbabilities, naiveT5 } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS, tinyConfig } from "../support/tiny-model.ts";

const TOLERANCE = 5e-6; // float32 through all layers

async function openTiny(config: ModelConfig, weights: ReadonlyMap<string, Float32Array>) {
  const encoder = await openRetrieverSession(config, { weights });
  const reader = await openReaderSession(config, { weights });
  return {
    ...{ config, encoder, reader },
    async [Symbol.asyncDispose]() {
      await Promise.all([encoder, reader].map((session) => session[Symbol.asyncDispose]()));
    },
  };
}

/** Questions of several lengths with different numbers of passages, in no order of length. */
const questionsOf = (config: ModelConfig): MarginalInput[] =>
  [3, 8, 5].map((length, i) => ({
    question: randomIds(config, length, "marginal question", i),
    passages: [6, 13, 4, 9].slice(i).map((size) => randomIds(config, size, "marginal", size)),
    logPriors: logPriorsOf([0.4, -0.3, 1.1, 0.2].slice(i), 1.7),
  }));

/** log P(y | x, z), a run for each token. */
function naiveLogLikelihood(
  config: ModelConfig,
  naive: ReturnType<typeof naiveT5>,
  question: readonly number[],
  passage: readonly number[],
  answer: readonly number[],
): number {
  const memory = naive.encode(question, passage);
  return answer.reduce((sum, token, t) => {
    const decoded = naive.decode([config.decoderStartId, ...answer.slice(0, t)], memory);
    return sum + Math.log(naiveProbabilities(decoded, [...question, ...passage])[token]!);
  }, 0);
}

for (const [name, config] of Object.entries(TINY_MODELS)) {
  const weights = randomWeights(config, name);

  test(`${name}: the answer and its sum are those of a double loop over single runs`, async () => {
    const naive = naiveT5(config, weights);
    const inputs = questionsOf(config);
    await using model = await openTiny(config, weights);
    const readings = await readMarginal(model, inputs, { maxTokens: 4 });
    let contested = 0;
    for (const [i, { question, passages, logPriors }] of inputs.entries()) {
      const candidates: number[][] = [];
      for (const passage of passages) {
        const [alone] = await read(model, [{ question, passages: [passage] }], { maxTokens: 4 });
        const { tokenIds } = alone!;
        if (!candidates.some((other) => other.join() === tokenIds.join()))
          candidates.push(tokenIds);
      }
      const joints = candidates.map((answer) =>
        passages.map((passage, z) =>
          Math.exp(logPriors[z]! + naiveLogLikelihood(config, naive, question, passage, answer)),
        ),
      );
      const sums = joints.map((joint) => joint.reduce((a, b) => a + b));
      const best = sums.indexOf(Math.max(...sums));
      contested += Number(candidates.length > 1);
      assert.equal(readings[i]!.tokenIds, candidates[best]);
      assertNear([readings[i]!.logProbability], [Math.log(sums[best]!)], TOLERANCE);
      const posteriors = joints[best]!.map((joint) => joint / sums[best]!);
      assertNear(readings[i]!.posteriors, posteriors, 5 * TOLERANCE);
    }
    assert.ok(contested > 0, "the candidates of a question differ");
  });
}

const config = tinyConfig({ copying: true });
const weights = randomWeights(config, "marginal");
const inputs = questionsOf(config);

test("likelihoods of given answers, in more columns than one step holds", async () => {
  const naive = naiveT5(config, weights);
  await using model = await openTiny(config, weights);
  const asked = inputs.map(({ question, passages }) => ({
    question,
    passages: passages.slice(0, 1),
  }));
  const counts = [300, 1, 40]; // 3 x 300 rows: two steps
  const answers = counts.map((count, i) =>
    Array.from({ length: count }, (_, j) => randomIds(config, 1 + (j % 3), "answer", i, j)),
  );
  const fused = await fuseInputs(model, asked);
  const found = await answerLogLikelihoods(model, fused, asked, answers);
  assert.equal(
    found.map(({ length }) => length),
    counts,
  );
  for (const [i, { question, passages }] of asked.entries())
    for (const j of [0, 2, 39, 171, 299].filter((j) => j < counts[i]!)) {
      const [passage] = passages as [number[]];
      const expected = naiveLogLikelihood(config, naive, question, passage, answers[i]![j]!);
      assertNear([found[i]![j]!], [expected], TOLERANCE, `answer ${j} of ${i}`);
    }
});

test("the likelihood of a generated answer is what generation reports", async () => {
  await using model = await openTiny(config, weights);
  const fused = await fuseInputs(model, inputs); // several passages together
  const readings = await read(model, inputs, { maxTokens: 6 });
  const answers = readings.map(({ tokenIds }) => [tokenIds]);
  const found = await answerLogLikelihoods(model, fused, inputs, answers);
  const expected = readings.map(({ logProbabilities }) =>
    logProbabilities.reduce((sum, value) => sum + value, 0),
  );
  assertNear(found.flat(), expected, TOLERANCE);
});

test("with all weight on one passage, the answer is that of this passage", async () => {
  await using model = await openTiny(config, weights);
  for (const z of [0, 1]) {
    const [{ question, passages }] = inputs as [MarginalInput];
    const logPriors = passages.map((_, i) => (i === z ? 0 : Number.NEGATIVE_INFINITY));
    const [reading] = await readMarginal(model, [{ question, passages, logPriors }]);
    const [alone] = await read(model, [{ question, passages: [passages[z]!] }]);
    const sum = alone!.logProbabilities.reduce((total, value) => total + value);
    assert.ok(reading!.logProbability >= sum - 1e-5, "a candidate is at least as probable");
    assert.is(Math.round(1e6 * reading!.posteriors[z]!), 1e6);
  }
});

test("extractive candidates are spans of a passage, and none of the null passage", async () => {
  await using model = await openTiny(config, weights);
  const options = { maxTokens: 4, extractive: true };
  for (const [i, reading] of (await readMarginal(model, inputs, options)).entries()) {
    const span = reading.tokenIds.filter((token) => token !== config.eosId);
    const passages = inputs[i]!.passages.slice(0, -1);
    assert.ok(reading.places.length > 0);
    for (const { passage, first, end } of reading.places)
      assert.equal(passages[passage]!.slice(first, end), span);
  }
});

test("a batch gives the same answers as single questions", async () => {
  await using model = await openTiny(config, weights);
  const options = { maxTokens: 5 };
  const together = await readMarginal(model, inputs, options);
  for (const [i, input] of inputs.entries()) {
    const [alone] = await readMarginal(model, [input], options);
    assert.equal(together[i]!.tokenIds, alone!.tokenIds);
    assertNear([together[i]!.logProbability], [alone!.logProbability], TOLERANCE);
    assertNear(together[i]!.posteriors, alone!.posteriors, 5 * TOLERANCE);
  }
});

test("a signal stops it", async () => {
  await using model = await openTiny(config, weights);
  const signal = AbortSignal.abort(new Error("stopped"));
  const error: unknown = await readMarginal(model, inputs, { signal }).catch((reason) => reason);
  assert.is((error as Error).message, "stopped");
});

test.run();
