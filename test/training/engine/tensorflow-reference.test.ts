/** Losses and gradients of two tiny models on TensorFlow.js against PyTorch. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import { readConfig } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterShapes } from "../../../src/model/parameter-names.ts";
import { passageIds, retrievalQuestionIds } from "../../../src/text/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { parameterState } from "../../../src/training/engine/optimizer.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../../../src/training/loss/trained-parameters.ts";
import { BACKENDS } from "../../support/backends.ts";
import { REFERENCE_MODELS, referenceFolder } from "../../support/reference-model.ts";
import { assertLikeReference, readTrainingReference } from "../../support/training-reference.ts";

for (const model of REFERENCE_MODELS) {
  if (!existsSync(referenceFolder(model))) {
    test.skip(`${model}: ${referenceFolder(model)} is not here`);
    continue;
  }
  test(`${model}: equal to PyTorch`, async () => {
    using reference = await readTrainingReference(model);
    const { folder, batch, options } = reference;
    const { headWeights, logScale, alpha, tau, maxPassageTokens } = options;
    const config = await readConfig(folder);
    const tokenizer = await loadTokenizer(join(folder, "spiece.model"));
    const examples = batch.questions.map((question, i) => ({
      question: retrievalQuestionIds(tokenizer, question),
      answer: [...tokenizer.encode(batch.answers[i]!), tokenizer.eosId],
      passages: batch.passages[i]!.map((passage) =>
        passageIds(tokenizer, passage, maxPassageTokens!),
      ),
    }));
    const weights = await loadWeights(folder, config);
    const states = new Map(
      [...parameterShapes(config)].map(([name, shape]) => [
        name,
        parameterState(shape, weights.get(name)!),
      ]),
    );
    states.set(LOG_SCALE, parameterState([], Float32Array.of(logScale!)));
    states.set(HEAD_WEIGHTS, parameterState([config.heads], Float32Array.from(headWeights!)));
    const gradientOptions = {
      alpha,
      tau,
      dropout: 0,
      inBatchNegatives: true,
      copies: "each",
    } as const;
    await using backend = await BACKENDS.tensorflow(config, states, gradientOptions);
    const { nll, loss, distillation } = await gradientAccumulator(
      config,
      backend.passes,
      gradientOptions,
    )({ examples, chunkQuestions: 3, objective: "distillation", key: [0] });
    await backend.read(states.keys());
    const gradients = new Map([...states].map(([name, { gradient }]) => [name, gradient]));
    assertLikeReference({ nll: nll!, loss, ...distillation!, gradients }, reference);
  });
}

test.run();
