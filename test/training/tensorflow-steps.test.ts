/** Losses and gradients on TensorFlow.js, by its own tape, against those on onnxruntime, by our rules. */

import { test } from "uvu";
import type { ModelConfig } from "../../src/config.ts";
import type { TokenExample } from "../../src/training/batch.ts";
import { openGradientAccumulator } from "../../src/training/gradient-accumulator.ts";
import { LOG_SCALE } from "../../src/training/loss-graph.ts";
import { parameterState } from "../../src/training/optimizer.ts";
import type { ObjectiveOptions } from "../../src/training/signatures.ts";
import { assertNear } from "../support/arrays.ts";
import { onTensorFlow, withOwn } from "../support/tensorflow-batch.ts";
import { randomIds, randomWeights, TINY_MODELS } from "../support/tiny-model.ts";

const TOLERANCE = 1e-5; // of the largest number of a gradient: float32 on both sides, in another order
const LOG_SCALE_TOLERANCE = 1e-3; // what is left of terms that are a thousand times larger once they are added

/** Three questions with two passages each, one of them everybody's. */
const exampleOf = (config: ModelConfig, i: number): TokenExample => ({
  question: [...randomIds(config, 3 + i, "question", i), config.eosId],
  answer: [...randomIds(config, 1 + i, "answer", i), config.eosId],
  passages: [randomIds(config, 6, "everybody's"), randomIds(config, 4 + 3 * i, "passage", i)],
});

const OBJECTIVES: Readonly<Record<string, ObjectiveOptions>> = {
  "distillation into all heads": { objective: "distillation", alpha: 8, tau: 0.5 },
  "distillation into one head": { objective: "distillation", alpha: 2 },
  "marginal likelihood": { objective: "marginal", alpha: 0 },
  "answers alone": { objective: "qa", alpha: 0 },
};

for (const [model, config] of Object.entries(TINY_MODELS))
  for (const [title, options] of Object.entries(OBJECTIVES))
    test(`${model}, ${title}: as on onnxruntime, whole and chunk by chunk`, async () => {
      const examples = [0, 1, 2].map((i) => exampleOf(config, i));
      const headWeights = options.tau === undefined ? undefined : [0.1, -0.2, 0.3];
      const values = withOwn(config, randomWeights(config, "tensorflow"), headWeights, 0.5);
      const states = new Map(
        [...values].map(([name, { data, shape }]) => [name, parameterState(shape, data as Float32Array)]),
      );
      const accumulatorOptions = { ...options, dropout: 0, candidates: "batch" } as const;
      await using accumulator = openGradientAccumulator(config, states, accumulatorOptions, { threads: 1 });
      const expected = await accumulator.add(examples, 3, [0]);
      for (const chunkQuestions of [3, 2, 1]) {
        const actual = await onTensorFlow(config, values, options, examples, chunkQuestions);
        assertNear([actual.nll], [expected.nll], TOLERANCE, "nll");
        assertNear([actual.kl], [expected.distillation?.kl ?? 0], TOLERANCE, "kl");
        const rows = (name: string) => actual.losses.flatMap((chunk) => [...chunk[name]!.data]);
        if (expected.distillation)
          assertNear(rows("target"), expected.distillation.target.flat(), TOLERANCE, "target");
        if (expected.retrieval)
          assertNear(rows("ownLogProbabilities"), expected.retrieval.ownLogProbabilities.flat(), TOLERANCE);
        for (const [name, { gradient }] of states)
          assertNear(
            actual.gradients.get(name)!,
            gradient,
            name === LOG_SCALE ? LOG_SCALE_TOLERANCE : TOLERANCE,
            `${chunkQuestions} at once: gradient of ${name}`,
          );
      }
    });

test.run();
