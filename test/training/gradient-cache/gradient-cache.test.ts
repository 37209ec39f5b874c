/** The gradient cache on each engine: a batch in chunks against the whole batch. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../../src/model/config.ts";
import type { BatchLosses } from "../../../src/training/gradient-cache/batch-losses.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import type { TokenExample } from "../../../src/training/loss/batch.ts";
import type { ObjectiveName } from "../../../src/training/loss/options.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { TINY_MODELS, tinyConfig } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";

const config = tinyConfig();
const QUESTIONS = 6;
const EACH = 3;
const drawn = randomExamples(config, QUESTIONS, EACH);
const shared = drawn[0]!.passages[0]!;
/** The last question has no positive. */
const positivesOf = (question: number): number[] =>
  question + 1 < QUESTIONS ? [question % EACH, 0] : [];
/**
 * Every second answer occurs in a passage. Question 1 trains retrieval only. All questions have one
 * passage in common, question 2 has fewer candidates, and question 3 has a relevant passage that is
 * not among its candidates.
 */
const examples = drawn.map((example, i): TokenExample => {
  const passages = [shared, ...example.passages.filter((passage) => passage !== shared)];
  return {
    question: example.question,
    answer: i === 1 ? [] : i % 2 ? [...passages[1]!.slice(1, 3), 1] : example.answer,
    passages: passages.slice(0, i === 2 ? EACH - 1 : EACH),
    positives: positivesOf(i).filter((positive) => i !== 2 || positive < EACH - 1),
    // Question 4 has both a positive and scores, question 5 has scores only.
    scores: i > 3 ? passages.map((_, k) => (k === 1 ? undefined : i - 2.5 * k)) : undefined,
    notNegatives: i === 3 ? [drawn[0]!.passages[1]!, shared] : [],
  };
});

interface Setting {
  readonly objective?: ObjectiveName;
  readonly copyAttention?: number;
  readonly inBatchNegatives?: boolean;
  readonly tau?: number;
  readonly dropout?: number;
  readonly copies?: "once" | "each";
  readonly retrievalOnly?: boolean;
  /** What the model has beside `config`. */
  readonly model?: Partial<ModelConfig>;
}

interface Computed {
  readonly losses: BatchLosses;
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** Computes `examples` once for each run. With `added`, gradients add to those before. */
async function compute(
  open: (typeof BACKENDS)["onnxruntime"],
  {
    objective = "distillation",
    inBatchNegatives = true,
    tau,
    copyAttention,
    dropout = 0.2,
    copies,
    retrievalOnly,
    model = {},
  }: Setting,
  runs: readonly { chunkQuestions: number; key?: string; added?: boolean }[],
): Promise<Computed[]> {
  const changed = { ...config, ...model };
  const states = trainedStates(changed, { mixed: tau !== undefined });
  const options = {
    alpha: 2,
    copyAttention,
    inBatchNegatives,
    tau,
    dropout,
    copies,
    retrievalOnly,
  };
  await using backend = await open(changed, states, options);
  const accumulate = gradientAccumulator(changed, backend.passes, options);
  const computed: Computed[] = [];
  for (const { chunkQuestions, key = "key", added = false } of runs) {
    if (!added) backend.clearGradients();
    const losses = await accumulate({ examples, chunkQuestions, objective, key: [key] });
    await backend.read(states.keys());
    const gradients = new Map([...states].map(([name, { gradient }]) => [name, gradient.slice()]));
    computed.push({ losses, gradients });
  }
  return computed;
}

/** For float32 sums in different orders. Measured: 3e-5 for `log_scale`, with large terms. */
const TOLERANCE = 1e-4;

const SETTINGS: Readonly<Record<string, Setting>> = {
  "one head, in-batch negatives": {},
  "one head, own candidates": { inBatchNegatives: false },
  "all heads, in-batch negatives": { tau: 0.5 },
  "all heads, own candidates": { tau: 0.5, inBatchNegatives: false },
  "relevance, in-batch negatives": { objective: "supervised" },
  "relevance, own candidates": { objective: "supervised", inBatchNegatives: false },
  "relevance, copies counted each": { objective: "supervised", copies: "each" },
  "marginal likelihood": { objective: "marginal" },
  "answers alone": { objective: "qa" },
  "retrieval alone, in-batch negatives": { objective: "retrieval" },
  "retrieval alone, all heads": { objective: "retrieval", tau: 0.5 },
  "retrieval alone, own candidates": { objective: "retrieval", inBatchNegatives: false },
  "retrieval alone, pooled": { objective: "retrieval", model: { pooling: "eos" } },
  "retrieval alone, shared layers held": {
    ...{ objective: "retrieval", retrievalOnly: true },
    model: TINY_MODELS["joint layers"]!,
  },
  "cosines of tokens, in-batch negatives": { model: { similarity: "cosine" } },
  "cosines of tokens, all heads": { tau: 0.5, model: { similarity: "cosine" } },
  "pooled, in-batch negatives": { model: { pooling: "mean", similarity: "cosine" } },
  "relevance and copy attention": { objective: "supervised", copyAttention: 0.5 },
};

/**
 * Biases of keys in the backbone add the same number to all scores of a query, which a softmax
 * ignores: their gradients are rounding errors.
 */
const SHIFTS = /\.key\.bias$/;

function sameAs(whole: Computed, part: Computed, what: string): void {
  const { nll = 0, copyAttention = 0, loss, retrieval, distillation } = part.losses;
  const expected = whole.losses;
  assertNear(
    [nll, copyAttention, loss],
    [expected.nll ?? 0, expected.copyAttention ?? 0, expected.loss],
    TOLERANCE,
    what,
  );
  // The scores of a chunk are those of its own passages, so only log probabilities are comparable.
  if (expected.retrieval)
    assertNear(
      retrieval!.logProbabilities.flat(),
      expected.retrieval.logProbabilities.flat(),
      TOLERANCE,
      what,
    );
  assertNear(
    [distillation?.softKl ?? 0],
    [expected.distillation?.softKl ?? 0],
    TOLERANCE,
    `${what}: scores`,
  );
  if (expected.distillation)
    assertNear(distillation!.target.flat(), expected.distillation.target.flat(), TOLERANCE, what);
  for (const [name, gradient] of whole.gradients)
    if (!SHIFTS.test(name))
      assertNear(part.gradients.get(name)!, gradient, TOLERANCE, `${what}: ${name}`);
}

const onOnnx = new Map<string, Computed>();

for (const [engine, open] of Object.entries(BACKENDS)) {
  for (const [title, setting] of Object.entries(SETTINGS))
    test(`${engine}: chunks give the gradients of the batch: ${title}`, async () => {
      const sizes = [4, 1]; // with 4, the last chunk is smaller
      const runs = [QUESTIONS, ...sizes].map((chunkQuestions) => ({ chunkQuestions }));
      const [whole, ...chunked] = (await compute(open, setting, runs)) as [Computed, ...Computed[]];
      for (const [i, part] of chunked.entries()) sameAs(whole, part, `${sizes[i]} questions`);
      if (engine === "onnxruntime") onOnnx.set(title, whole);
      else sameAs(onOnnx.get(title)!, whole, "as on onnxruntime");
    });

  test(`${engine}: the key determines dropout`, async () => {
    const [first, again, other] = (await compute(open, {}, [
      { chunkQuestions: 3 },
      { chunkQuestions: 3 },
      { chunkQuestions: 3, key: "other" },
    ])) as [Computed, Computed, Computed];
    assert.equal(first.gradients, again.gradients); // bit for bit
    assert.is(first.losses.loss, again.losses.loss);
    assert.is.not(first.losses.loss, other.losses.loss);
  });

  test(`${engine}: gradients of batches add up`, async () => {
    const [once, twice] = await compute(open, { dropout: 0 }, [
      { chunkQuestions: 3 },
      { chunkQuestions: 3, added: true },
    ]);
    for (const [name, gradient] of once!.gradients)
      assertNear(
        twice!.gradients.get(name)!,
        gradient.map((x) => 2 * x),
        1e-5,
        name,
      );
  });

  test(`${engine}: qa does not train retrieval`, async () => {
    const [computed] = await compute(open, { objective: "qa", tau: 0.5 }, [{ chunkQuestions: 6 }]);
    const { gradients } = computed!;
    assert.equal([...gradients.get("log_scale")!, ...gradients.get("head_weights")!], [0, 0, 0, 0]);
  });
}

test.run();
