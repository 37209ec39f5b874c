/** Workers: batches whose chunks several threads compute at the same time. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../../src/model/config.ts";
import { chunkQuestions } from "../../../src/training/engine/engine.ts";
import { openOnnxBackend } from "../../../src/training/engine/onnx-backend.ts";
import { gradientAccumulator } from "../../../src/training/gradient-cache/gradient-cache.ts";
import { type ObjectiveName, objectivesOf } from "../../../src/training/objectives/index.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import { assertNear } from "../../support/arrays.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { ONE_THREAD, randomExamples, trainedStates } from "../../support/training.ts";
import { trainedBy } from "../../support/training-step.ts";

interface Setting {
  readonly objective: ObjectiveName;
  readonly model: ModelConfig;
  readonly phraseLoss?: number;
}

const SETTINGS: Readonly<Record<string, Setting>> = {
  "relevance and reading": { objective: "supervised", model: TINY_MODELS["v1.1"]! },
  "answers alone, without a normaliser": { objective: "qa", model: TINY_MODELS.copying! },
  "retrieval alone, with shared layers": {
    ...{ objective: "retrieval", model: TINY_MODELS["joint layers"]! },
  },
  "retrieval with phrases": {
    ...{ objective: "retrieval", model: { ...TINY_MODELS["v1.1"]!, phraseQueries: true } },
    phraseLoss: 1,
  },
};

/** For float32 sums in different orders. */
const TOLERANCE = 1e-4;

/** The gradients of each of several batches. */
async function gradientsOf(
  { objective, model, phraseLoss }: Setting,
  workers: number,
  keys: readonly string[],
): Promise<Map<string, Float32Array>[]> {
  const states = trainedStates(model);
  const trained = trainedBy(model, { objective });
  const engine = { trained, dropout: 0.2 };
  const objectives = objectivesOf(objective, { alpha: 2, phraseLoss });
  const phrases = [{ candidate: 0, first: 0, last: 1 }];
  const examples = randomExamples(model, 5, 3).map((one) => ({ ...one, positives: [0], phrases }));
  await using backend = await openOnnxBackend(model, states, engine, ONE_THREAD, workers);
  const accumulate = gradientAccumulator(model, backend.passes, engine);
  const computed: Map<string, Float32Array>[] = [];
  for (const key of keys) {
    backend.clearGradients();
    await accumulate({ examples, chunkQuestions: 1, objectives, key: [key] });
    computed.push(new Map([...states].map(([name, { gradient }]) => [name, gradient.slice()])));
  }
  return computed;
}

for (const [title, setting] of Object.entries(SETTINGS))
  test(`workers have the gradients of one, always with the same bits: ${title}`, async () => {
    const [one] = await gradientsOf(setting, 1, ["a"]);
    const [first, other, again] = await gradientsOf(setting, 2, ["a", "b", "a"]);
    assert.equal(again, first);
    assert.not.equal(other, first);
    for (const [name, gradient] of one!)
      if (!name.endsWith(".key.bias"))
        // a softmax ignores it: rounding errors
        assertNear(first!.get(name)!, gradient, TOLERANCE, name);
  });

test("a chunk size gives each worker the same number of chunks, where it can", () => {
  const passages = [Array.from({ length: 90 }, () => 5)];
  const examples = (count: number) =>
    Array.from({ length: count }, () => ({
      question: [5, 6, 7, 8, 9, 2, 2, 2, 2, 1],
      answer: [1],
      passages,
    }));
  const sizes = (count: number) => [1, 2, 3].map((n) => chunkQuestions(examples(count), true, n));
  assert.equal(sizes(20), [20, 20, 20]); // one chunk
  assert.equal(sizes(75), [25, 25, 25]); // three chunks; no number of chunks is even
  assert.equal(sizes(36), [18, 18, 12]); // two chunks, or three
});

test("an error in a worker ends the step", async () => {
  const model = TINY_MODELS["v1.1"]!;
  const options = { trained: trainedBy(model, {}), dropout: 0 };
  await using backend = await openOnnxBackend(model, trainedStates(model), options, ONE_THREAD, 2);
  const accumulate = gradientAccumulator(model, backend.passes, options);
  const [example] = randomExamples(model, 1, 3);
  const outside = { ...example!, question: [model.vocabularySize + 5, 1] };
  const batch = { chunkQuestions: 1, objectives: [reading()], key: ["a"] };
  let message = "";
  await accumulate({ examples: [example!, outside], ...batch }).catch((error: Error) => {
    message = error.message;
  });
  assert.match(message, /Gather/);
});

test.run();
