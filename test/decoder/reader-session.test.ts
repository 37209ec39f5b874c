/**
 * The decoder step by step with its caches, compared with plain loops over all tokens and with a
 * graph without caches.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { decode, vocabularyLogits } from "../../src/decoder/decoder.ts";
import { openReaderSession, type ReaderSession } from "../../src/decoder/reader-session.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { inferenceContext } from "../../src/model/layers/context.ts";
import { positionBuckets } from "../../src/model/layers/relative-position.ts";
import { buildParameters } from "../../src/model/parameter-names.ts";
import type { Tensor } from "../../src/tensor/ops.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";
import { assertNear } from "../support/arrays.ts";
import { tabulate } from "../support/naive-ops.ts";
import { naiveT5, naiveTargetAttention } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS } from "../support/tiny-model.ts";

/** Of the passages that each of two questions reads. */
const RELEVANCES = [
  [0, -1.5, -0.25],
  [-3, 0, -0.5],
];
const TOLERANCE = 5e-6; // float32 through all layers; measured below 1e-6

for (const [name, config] of Object.entries(TINY_MODELS)) {
  const weights = randomWeights(config, name);
  const naive = naiveT5(config, weights);
  const questions = [randomIds(config, 5, "question", 0), randomIds(config, 3, "question", 1)];
  const passages = [7, 2, 9, 4].map((length) => randomIds(config, length, "passage", length));
  const reading = [
    [0, 1, 2],
    [3, 2, 0],
  ];
  const answer = [config.decoderStartId, ...randomIds(config, 5, "answer")];
  const memories = questions.map((question, i) =>
    reading[i]!.flatMap((row) => naive.encode(question, passages[row]!)),
  );

  async function fuse(
    reader: ReaderSession,
    rows: readonly (readonly number[])[] = reading,
    relevances?: readonly (readonly number[])[],
  ) {
    await using encoder = await openRetrieverSession(config, { weights });
    const states = (sequences: readonly (readonly number[])[]) =>
      encodeSequences(encoder, config, sequences, "reading");
    const [ofQuestions, ofPassages] = [await states(questions), await states(passages)];
    return reader.fuse(
      rows.map((own, i) => ({
        question: ofQuestions[i]!,
        passages: own.map((row) => ofPassages[row]!),
        relevances: relevances?.[i],
      })),
    );
  }

  test(`${name}: logits and target attention equal those of plain loops`, async () => {
    for (const relevances of [undefined, RELEVANCES]) await compare(relevances);
  });

  async function compare(relevances: readonly (readonly number[])[] | undefined): Promise<void> {
    await using reader = await openReaderSession(config, { weights });
    const fused = await fuse(reader, reading, relevances);
    const steps = await decodeStepwise(reader, fused, config, answer);
    for (const [question, memory] of memories.entries()) {
      const own = relevances?.[question];
      const ofTokens = fused.lengths[question]!.flatMap((length, i) =>
        Array<number>(length).fill(own?.[i] ?? 0),
      );
      const { logits, crossScores } = naive.decode(answer, memory, ofTokens);
      for (const [i, step] of steps.entries()) {
        const row = step.logits.data.subarray(
          question * config.vocabularySize,
          (question + 1) * config.vocabularySize,
        );
        assertNear(row, logits[i]!, TOLERANCE, `logits of step ${i}`);
      }
      const lengths = reading[question]!.map(
        (row) => questions[question]!.length + passages[row]!.length,
      );
      const attention = sharesOfPassages(steps[0]!.attention, question, lengths);
      assertNear(
        attention,
        naiveTargetAttention(crossScores, lengths),
        TOLERANCE,
        "target attention",
      );
      const sum = attention.reduce((total, share) => total + share, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6, `target attention sums to ${sum}`);
    }
  }

  test(`${name}: the caches do not change the logits`, async () => {
    await using reader = await openReaderSession(config, { weights });
    const steps = await decodeStepwise(reader, await fuse(reader), config, answer);
    const [memory] = memories;
    const graph = trace(
      {
        ids: ["int32", 1, "length"],
        buckets: ["int32", "length", "length"],
        fused: ["float32", 1, "fused", config.modelSize],
        bias: ["float32", 1, 1, 1, "fused"],
      },
      (ops, { ids, buckets, fused, bias }) => {
        const context = inferenceContext(ops, config);
        const parameters = buildParameters(config, (leaf, shape) => ops.parameter(leaf, shape));
        const input = { ids, buckets, passages: fused, crossBias: bias };
        const { states } = decode(context, parameters, input);
        return { logits: vocabularyLogits(context, parameters, states) };
      },
    );
    await using whole = await compile(graph, { weights });
    const { logits } = await whole.run<"logits">({
      ids: { data: Int32Array.from(answer), shape: [1, answer.length] },
      buckets: positionBuckets(config, "decoder", answer.length),
      fused: tabulate(
        [1, memory!.length, config.modelSize],
        ([, token, at]) => memory![token!]![at!]!,
      ),
      bias: tabulate([1, 1, 1, memory!.length], () => 0),
    });
    const size = config.vocabularySize;
    for (const [i, step] of steps.entries())
      assertNear(
        step.logits.data.subarray(0, size),
        logits.data.subarray(i * size, (i + 1) * size),
        TOLERANCE,
      );
  });

  test(`${name}: rows of a question keep their own past when they change places`, async () => {
    await using reader = await openReaderSession(config, { weights });
    const fused = await fuse(reader);
    // Three answers a question from the second step on; `parents` are rows of the step before.
    const tokens = [
      [0, 0],
      [7, 8, 9, 10, 11, 12],
      [13, 14, 15, 16, 17, 18],
      [19, 20, 21, 22, 23, 24],
    ];
    const parents = [
      [0, 1],
      [0, 0, 0, 1, 1, 1],
      [2, 0, 0, 5, 3, 4],
      [1, 1, 2, 3, 5, 3],
    ];
    let generated: number[][] = [[], []];
    let past = reader.start(2);
    for (const [i, ids] of tokens.entries()) {
      generated = ids.map((token, row) => [...generated[parents[i]![row]!]!, token]);
      const step = await reader.step(fused, { ...rowsOf(ids, parents[i]!), past });
      past = step.past;
      for (const [row, ids] of generated.entries()) {
        const { logits } = naive.decode(ids, memories[Math.floor((2 * row) / generated.length)]!);
        const size = config.vocabularySize;
        assertNear(
          step.logits.data.subarray(row * size, (row + 1) * size),
          logits.at(-1)!,
          TOLERANCE,
        );
      }
    }
  });

  test(`${name}: the order of the passages does not change the logits`, async () => {
    await using reader = await openReaderSession(config, { weights });
    const fused = await fuse(reader);
    const steps = await decodeStepwise(reader, fused, config, answer);
    const reversed = await decodeStepwise(
      reader,
      await fuse(
        reader,
        reading.map((rows) => rows.toReversed()),
      ),
      config,
      answer,
    );
    for (const [i, { logits }] of steps.entries())
      assertNear(reversed[i]!.logits.data, logits.data, TOLERANCE);
    for (const question of questions.keys()) {
      const lengths = fused.lengths[question]!;
      assertNear(
        sharesOfPassages(reversed[0]!.attention, question, lengths.toReversed()),
        sharesOfPassages(steps[0]!.attention, question, lengths).toReversed(),
        TOLERANCE,
      );
    }
  });
}

/** All steps that generate `answer`, for two questions. */
async function decodeStepwise(
  reader: ReaderSession,
  fused: Awaited<ReturnType<ReaderSession["fuse"]>>,
  config: ModelConfig,
  answer: readonly number[],
) {
  const steps: Awaited<ReturnType<ReaderSession["step"]>>[] = [];
  let past = reader.start(2);
  for (const token of answer) {
    const step = await reader.step(fused, { ...rowsOf([token, token], [0, 1]), past });
    assert.equal(step.logits.shape, [2, config.vocabularySize]);
    assert.equal(step.attention.shape, fused.bias.shape);
    past = step.past;
    steps.push(step);
  }
  return steps;
}

/** The attention of one question, summed over the tokens of each passage. */
function sharesOfPassages(
  { data, shape }: Tensor,
  question: number,
  lengths: readonly number[],
): number[] {
  const shares = [...data.subarray(question * shape[1]!, (question + 1) * shape[1]!)];
  return lengths.map((length) => shares.splice(0, length).reduce((sum, share) => sum + share, 0));
}

const rowsOf = (tokens: readonly number[], parents: readonly number[]) => ({
  ids: { data: Int32Array.from(tokens), shape: [tokens.length, 1] },
  parents: { data: Int32Array.from(parents), shape: [parents.length] },
});

test.run();
