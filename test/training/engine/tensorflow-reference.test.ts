/** Losses and gradients of two tiny models on TensorFlow.js against PyTorch. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import { readConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterShapes } from "../../../src/model/parameter-names.ts";
import { passageIds, retrievalQuestionIds } from "../../../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { parameterState } from "../../../src/training/engine/optimizer.ts";
import { distillation } from "../../../src/training/objectives/distillation.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../../../src/training/objectives/trained-parameters.ts";
import { countingCopies } from "../../support/loss-and-gradients.ts";
import { REFERENCE_MODELS, referenceFolder } from "../../support/reference-model.ts";
import { assertLikeReference, readTrainingReference } from "../../support/training-reference.ts";
import { computeStep } from "../../support/training-step.ts";

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
        passageIds(tokenizer, passage, maxPassageTokens),
      ),
    }));
    const weights = await loadWeights(folder, config);
    const states = new Map(
      [...parameterShapes(config)].map(([name, shape]) => [
        name,
        parameterState(shape, weights.get(name)!),
      ]),
    );
    states.set(LOG_SCALE, parameterState([], Float32Array.of(logScale)));
    states.set(HEAD_WEIGHTS, parameterState([headWeights.length], Float32Array.from(headWeights)));
    const computed = await computeStep(
      "tensorflow",
      config,
      states,
      { tau },
      {
        ...{ examples, objectives: [reading(), countingCopies(distillation({ alpha }))] },
        watched: ["attention"],
      },
    );
    const { loss, terms, watched, gradients } = computed;
    const { data, shape } = watched.attention![0]!;
    const target = examples.map((_, q) => [...data.subarray(q * shape[1]!, (q + 1) * shape[1]!)]);
    const { nll, kl } = terms as Record<"nll" | "kl", number>;
    assertLikeReference({ loss, nll, kl, target, gradients }, reference);
  });
}

test.run();
