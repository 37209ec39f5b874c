/** The gradient cache on each engine: a batch in chunks against the whole batch. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { BatchLosses } from "../../../src/training/gradient-cache/batch-losses.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import type { ObjectiveName } from "../../../src/training/loss/options.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";

const config = tinyConfig();
const QUESTIONS = 6;
const EACH = 3;
/** The last question has no label. */
const relevantOf = (question: number): number | undefined =>
  question + 1 < QUESTIONS ? question % EACH : undefined;
/** Every second answer occurs in a passage. */
const examples = randomExamples(config, QUESTIONS, EACH).map((example, i) => ({
  ...example,
  answer: i % 2 ? [...example.passages[1]!.slice(1, 3), 1] : example.answer,
  relevant: relevantOf(i),
}));

interface Setting {
  readonly objective?: ObjectiveName;
  readonly copyAttention?: number;
  readonly inBatchNegatives?: boolean;
  readonly tau?: number;
  readonly dropout?: number;
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
  }: Setting,
  runs: readonly { chunkQuestions: number; key?: string; added?: boolean }[],
): Promise<Computed[]> {
  const states = trainedStates(config, { mixed: tau !== undefined });
  const options = { alpha: 2, copyAttention, inBatchNegatives, tau, dropout };
  await using backend = await open(config, states, options);
  const accumulate = gradientAccumulator(config, backend.passes, options);
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
  "marginal likelihood": { objective: "marginal" },
  "answers alone": { objective: "qa" },
  "relevance and copy attention": { objective: "supervised", copyAttention: 0.5 },
};

function sameAs(whole: Computed, part: Computed, what: string): void {
  const { nll, copyAttention = 0, loss, retrieval, distillation } = part.losses;
  const expected = whole.losses;
  assertNear(
    [nll, copyAttention, loss],
    [expected.nll, expected.copyAttention ?? 0, expected.loss],
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
  if (expected.distillation)
    assertNear(distillation!.target.flat(), expected.distillation.target.flat(), TOLERANCE, what);
  for (const [name, gradient] of whole.gradients)
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

  test(`${engine}: the target is the label, or the target attention without a label`, async () => {
    const [known] = await compute(open, { objective: "supervised" }, [{ chunkQuestions: 2 }]);
    const [attended] = await compute(open, {}, [{ chunkQuestions: 2 }]);
    const { retrieval, distillation } = known!.losses;
    const { target } = attended!.losses.distillation!;
    const divergences = retrieval!.logProbabilities.map((row, question) => {
      const relevant = relevantOf(question);
      if (relevant !== undefined) return -row[relevant]!; // its negative log likelihood
      return row.reduce(
        (sum, log, p) => sum + target[question]![p]! * (Math.log(target[question]![p]!) - log),
        0,
      );
    });
    assertNear([distillation!.kl], [divergences.reduce((sum, x) => sum + x, 0) / QUESTIONS], 1e-5);
  });

  test(`${engine}: qa does not train retrieval`, async () => {
    const [computed] = await compute(open, { objective: "qa", tau: 0.5 }, [{ chunkQuestions: 6 }]);
    const { gradients } = computed!;
    assert.equal([...gradients.get("log_scale")!, ...gradients.get("head_weights")!], [0, 0, 0, 0]);
  });
}

test.run();
