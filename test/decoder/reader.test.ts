/**
 * From token ids to answers, compared with plain loops that choose the most probable token; batches
 * compared with single questions.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { type Reading, type ReadingInput, read } from "../../src/decoder/reader.ts";
import { openReaderSession } from "../../src/decoder/reader-session.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveProbabilities, naiveT5, naiveTargetAttention } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS, tinyConfig } from "../support/tiny-model.ts";

const TOLERANCE = 5e-6; // float32 through all layers

async function readAll(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  inputs: readonly ReadingInput[],
  options: Parameters<typeof read>[2] = {},
): Promise<Reading[]> {
  await using encoder = await openRetrieverSession(config, { weights });
  await using reader = await openReaderSession(config, { weights });
  return await read({ config, encoder, reader }, inputs, options);
}

/** Questions of several lengths that share passages. */
function questionsOver(
  config: ModelConfig,
  lengths: readonly number[],
  passagesEach: number,
): ReadingInput[] {
  const passages = [6, 13, 1, 9].map((length) => randomIds(config, length, "passage", length));
  return lengths.map((length, i) => ({
    question: randomIds(config, length, "question", i),
    passages: Array.from(
      { length: passagesEach },
      (_, rank) => passages[(i + rank) % passages.length]!,
    ),
  }));
}

for (const [name, config] of Object.entries(TINY_MODELS)) {
  const weights = randomWeights(config, name);

  test(`${name}: greedy answers equal those of plain loops without a cache`, async () => {
    const naive = naiveT5(config, weights);
    const inputs = questionsOver(config, [3, 7], 2);
    const readings = await readAll(config, weights, inputs, { maxTokens: 6 });
    for (const [i, { question, passages }] of inputs.entries()) {
      const memory = passages.flatMap((passage) => naive.encode(question, passage));
      const ids = passages.flatMap((passage) => [...question, ...passage]);
      const expected: number[] = [];
      const logProbabilities: number[] = [];
      while (expected.length < 6 && expected.at(-1) !== config.eosId) {
        const decoded = naive.decode([config.decoderStartId, ...expected], memory);
        const probabilities = naiveProbabilities(decoded, ids);
        const most = Math.max(...probabilities);
        expected.push(probabilities.indexOf(most));
        logProbabilities.push(Math.log(most));
        const lengths = passages.map((passage) => question.length + passage.length);
        if (expected.length === 1)
          assertNear(
            readings[i]!.attention,
            naiveTargetAttention(decoded.crossScores, lengths),
            TOLERANCE,
          );
      }
      assert.equal(readings[i]!.tokenIds, expected);
      assertNear(readings[i]!.logProbabilities, logProbabilities, TOLERANCE);
    }
  });
}

const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2 });
const weights = randomWeights(config, "read");
const inputs = questionsOver(config, [2, 11, 5, 8], 3);

test("a batch gives the same answers as single questions", async () => {
  const options = { maxTokens: 8 };
  const together = await readAll(config, weights, inputs, options);
  for (const [i, input] of inputs.entries()) {
    const [alone] = await readAll(config, weights, [input], options);
    assert.equal(together[i]!.tokenIds, alone!.tokenIds);
    assertNear(together[i]!.logProbabilities, alone!.logProbabilities, TOLERANCE);
    assertNear(together[i]!.attention, alone!.attention, TOLERANCE);
  }
});

test("passages of very different lengths in several runs give the same answers as alone", async () => {
  const passages = [900, 4, 500, 300].map((length) => randomIds(config, length, "long", length));
  const inputs = [
    { question: randomIds(config, 6, "long", 0), passages },
    { question: randomIds(config, 2, "long", 1), passages: passages.slice(1) },
  ];
  const together = await readAll(config, weights, inputs, { maxTokens: 4 });
  for (const [i, input] of inputs.entries()) {
    const [alone] = await readAll(config, weights, [input], { maxTokens: 4 });
    assert.equal(together[i]!.tokenIds, alone!.tokenIds);
    assertNear(together[i]!.attention, alone!.attention, TOLERANCE);
    assert.is(alone!.attention.length, input.passages.length);
  }
});

test("an extractive answer has a place in a passage, which can repeat its tokens", async () => {
  const passages = [[7, 8, 7, 8, 7, 8, config.eosId]]; // no_repeat_ngram_size forbids it elsewhere
  const repeating = { question: [9, 5], passages };
  const limited = { ...config, noRepeatSize: 1 };
  const options = { maxTokens: 5, extractive: true };
  const readings = await readAll(limited, weights, [...inputs, repeating], options);
  for (const [i, { tokenIds, logProbabilities, places }] of readings.entries()) {
    const span = tokenIds.filter((token) => token !== config.eosId);
    assert.ok(places.length > 0);
    for (const { passage, first, end } of places)
      assert.equal([...inputs, repeating][i]!.passages[passage]!.slice(first, end), span);
    assert.is(logProbabilities.length, tokenIds.length);
  }
});

test("the order of passages changes only the order of their attention", async () => {
  const [input] = inputs;
  const [there] = await readAll(config, weights, [input!], { maxTokens: 8 });
  const reversed = { question: input!.question, passages: input!.passages.toReversed() };
  const [back] = await readAll(config, weights, [reversed], { maxTokens: 8 });
  assert.equal(back!.tokenIds, there!.tokenIds);
  assertNear(back!.attention, there!.attention.toReversed(), TOLERANCE);
});

test("the attention over passages sums to 1", async () => {
  for (const passagesEach of [1, 4]) {
    const readings = await readAll(config, weights, questionsOver(config, [4, 6], passagesEach), {
      maxTokens: 1,
    });
    for (const { attention } of readings) {
      assert.is(attention.length, passagesEach);
      assert.ok(Math.abs(attention.reduce((sum, share) => sum + share) - 1) < 1e-6);
    }
  }
});

test("onToken receives tokens with the position of their question", async () => {
  const received: number[][] = inputs.map(() => []);
  const onToken = (token: number, question: number) => received[question]!.push(token);
  const readings = await readAll(config, weights, inputs, { maxTokens: 5, onToken });
  assert.equal(
    received,
    readings.map(({ tokenIds }) => tokenIds),
  );
  assert.ok(new Set(received.map((tokens) => tokens.join())).size > 1, "the answers differ");
});

test("no questions give no answers", async () => {
  assert.equal(await readAll(config, weights, []), []);
});

test("stored states replace the lower layers of a passage, in every batch", async () => {
  const config = TINY_MODELS["joint layers"]!;
  const weights = randomWeights(config, "stored");
  await using encoder = await openRetrieverSession(config, { weights });
  await using reader = await openReaderSession(config, { weights });
  const inputs = questionsOver(config, [3, 7], 3);
  const expected = await read({ config, encoder, reader }, inputs, { maxTokens: 6 });
  const encoded: number[] = [];
  const counting: typeof encoder = {
    ...encoder,
    encode(batch, outputs) {
      encoded.push(batch.ids.shape[0]!);
      return encoder.encode(batch, outputs);
    },
  };
  const statesOf = async (ids: readonly number[]) => {
    const [states] = await encodeSequences(encoder, config, [ids], "reading");
    return { tokens: ids.length, unpack: () => states! };
  };
  const withStates = await Promise.all(
    inputs.map(async (input) => ({
      ...input,
      stored: await Promise.all(input.passages.map(statesOf)),
    })),
  );
  const readings = await read({ config, encoder: counting, reader }, withStates, { maxTokens: 6 });
  assert.equal(encoded, [2]); // both questions, no passage
  for (const [i, { tokenIds, logProbabilities }] of readings.entries()) {
    assert.equal(tokenIds, expected[i]!.tokenIds);
    assertNear(logProbabilities, expected[i]!.logProbabilities, TOLERANCE);
  }
});

test.run();
