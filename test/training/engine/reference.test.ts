/** Losses and gradients of two tiny models against PyTorch, whole and in chunks. */

import { existsSync } from "node:fs";
import { test } from "uvu";
import { assertNear } from "../../support/arrays.ts";
import { lossAndGradients } from "../../support/loss-and-gradients.ts";
import { REFERENCE_MODELS, referenceFolder } from "../../support/reference-model.ts";
import { assertLikeReference, readTrainingReference } from "../../support/training-reference.ts";

const SCORE_TOLERANCE = 1e-6;

for (const model of REFERENCE_MODELS) {
  if (!existsSync(referenceFolder(model))) {
    test.skip(`${model}: ${referenceFolder(model)} is not here`);
    continue;
  }
  const reference = await readTrainingReference(model);
  test.after(() => reference[Symbol.dispose]());

  for (const [title, chunkQuestions] of [
    ["all questions at once", 3],
    ["two questions, then the third", 2],
    ["question by question", 1],
  ] as const)
    test(`${model}: ${title}`, async () => {
      const { folder, batch, options, scores } = reference;
      const actual = await lossAndGradients(folder, batch, options, chunkQuestions);
      assertLikeReference(actual, reference);
      if (chunkQuestions === 3)
        assertNear(actual.scores.flat(), scores.flat(), SCORE_TOLERANCE, "retrieval scores");
    });
}

test.run();
