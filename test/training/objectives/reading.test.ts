/** What a step trains the decoder to do is what it does when it answers. */

import { test } from "uvu";
import { answerLogLikelihoods } from "../../../src/decoder/answer-likelihoods.ts";
import { fuseInputs } from "../../../src/decoder/reader.ts";
import { openReaderSession } from "../../../src/decoder/reader-session.ts";
import { openRetrieverSession } from "../../../src/encoder/retriever-session.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import { assertNear } from "../../support/arrays.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { trainedStates } from "../../support/training.ts";
import { computeStep } from "../../support/training-step.ts";

/** The answers have tokens of questions and of passages. Questions have different lengths. */
const examples: TokenExample[] = [
  { question: [5, 9, 7, 1], answer: [9, 7, 1], passages: [[4, 9, 7, 3, 1]] },
  {
    question: [8, 1],
    answer: [8, 6, 1],
    passages: [
      [6, 2, 1],
      [8, 6, 4, 1],
    ],
  },
];

for (const name of ["v1.1", "copying", "joint layers"])
  test(`${name}: the likelihood of answers is that of the decoder`, async () => {
    const config = TINY_MODELS[name]!;
    const states = trainedStates(config);
    const weights = new Map([...states].map(([key, { value }]) => [key, value]));
    await using encoder = await openRetrieverSession(config, { weights });
    await using reader = await openReaderSession(config, { weights });
    const inputs = examples.map(({ question, passages }) => ({
      question: question.slice(0, -1),
      passages: passages.map((passage) => [...passage]),
    }));
    const model = { config, encoder, reader };
    const fused = await fuseInputs(model, inputs);
    const answers = examples.map(({ answer }) => [answer]);
    const expected = (await answerLogLikelihoods(model, fused, inputs, answers)).flat();
    for (const [i, example] of examples.entries()) {
      const batch = { examples: [example], objectives: [reading()] };
      const { terms } = await computeStep("onnxruntime", config, states, {}, batch);
      assertNear([-terms.nll! * example.answer.length], [expected[i]!], 1e-5, `question ${i}`);
    }
  });

test.run();
