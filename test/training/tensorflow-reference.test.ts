/** Losses and gradients of two tiny models by TensorFlow.js's own tape against PyTorch's. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import { readConfig } from "../../src/config.ts";
import { passageIds, retrievalQuestionIds } from "../../src/text/prompts.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { loadWeights } from "../../src/weights/load.ts";
import { onTensorFlow, withOwn } from "../support/tensorflow-batch.ts";
import {
  assertLikeReference,
  REFERENCE_MODELS,
  readTrainingReference,
  referenceFolder,
} from "../support/training-reference.ts";

for (const model of REFERENCE_MODELS) {
  if (!existsSync(referenceFolder(model))) {
    test.skip(`${model}: ${referenceFolder(model)} is not here`);
    continue;
  }
  test(`${model}: as on PyTorch`, async () => {
    using reference = await readTrainingReference(model);
    const { folder, batch, options } = reference;
    const config = await readConfig(folder);
    const tokenizer = await loadTokenizer(join(folder, "spiece.model"));
    const examples = batch.questions.map((question, i) => ({
      question: retrievalQuestionIds(tokenizer, question),
      answer: [...tokenizer.encode(batch.answers[i]!), tokenizer.eosId],
      passages: batch.passages[i]!.map((passage) =>
        passageIds(tokenizer, passage, options.maxPassageTokens!),
      ),
    }));
    const weights = await loadWeights(folder, config);
    const { nll, kl, losses, gradients } = await onTensorFlow(
      config,
      withOwn(config, weights, options.headWeights, options.logScale!),
      { objective: "distillation", ...options },
      examples,
      3,
    );
    const { target } = losses[0]!;
    const loss = nll + options.alpha * kl;
    assertLikeReference({ nll, kl, loss, target: [[...target!.data]], gradients }, reference);
  });
}

test.run();
