/** Gradients of a model with a query encoder, against the same model without one and in chunks. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../../src/model/config.ts";
import { isOfQueryEncoder, queryEncoderSources } from "../../../src/model/parameter-names.ts";
import { type ParameterState, parameterState } from "../../../src/training/engine/optimizer.ts";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import type { TrainedChoice } from "../../../src/training/options/trained.ts";
import { assertNear } from "../../support/arrays.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";
import { type ComputedStep, computeStep, trainedBy } from "../../support/training-step.ts";

const TOLERANCE = 1e-4; // float32 sums in different orders
const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2 });
const withCopy = { ...config, queryEncoder: true };
const sources = queryEncoderSources(withCopy);
const QUESTIONS = 4;
const examples = randomExamples(config, QUESTIONS, 3);

/** The states of the model without a query encoder, and a query encoder equal to the encoder. */
function copied(): Map<string, ParameterState> {
  const states = trainedStates(config);
  for (const [name, { shape }] of trainedStates(withCopy))
    if (isOfQueryEncoder(name))
      states.set(name, parameterState(shape, states.get(sources.get(name)!)!.value.slice()));
  return states;
}

interface Setting extends Partial<TrainedChoice> {
  readonly dropout?: number;
  readonly chunkQuestions?: number;
}

const compute = (
  model: ModelConfig,
  states: ReadonlyMap<string, ParameterState>,
  { dropout = 0, chunkQuestions = QUESTIONS, ...options }: Setting = {},
): Promise<ComputedStep> => {
  const trained = trainedBy(model, options);
  const objectives = objectivesOf("distillation", { alpha: 2 });
  return computeStep(
    "onnxruntime",
    model,
    states,
    { trained, dropout },
    {
      ...{ examples, objectives, chunkQuestions },
    },
  );
};

test("with a query encoder equal to the encoder, the gradients of both add up", async () => {
  const whole = await compute(config, trainedStates(config));
  const apart = await compute(withCopy, copied());
  assertNear([apart.loss, apart.terms.nll!], [whole.loss, whole.terms.nll!], TOLERANCE);
  for (const [name, gradient] of whole.gradients) {
    const own = apart.gradients.get(name)!;
    const copy = [...apart.gradients].find(([of]) => sources.get(of) === name)?.[1];
    const sum = copy ? own.map((x, i) => x + copy[i]!) : own;
    assertNear(sum, gradient, TOLERANCE, name);
  }
});

test("with querySide layers, only the query encoder has gradients, and the same ones", async () => {
  const all = await compute(withCopy, copied());
  const alone = await compute(withCopy, copied(), { part: "query", layers: 2 });
  for (const [name, gradient] of alone.gradients) {
    if (isOfQueryEncoder(name)) assertNear(gradient, all.gradients.get(name)!, TOLERANCE, name);
    else
      assert.ok(
        gradient.every((x) => x === 0),
        name,
      );
  }
  assert.ok([...alone.gradients.values()].some((gradient) => gradient.some((x) => x !== 0)));
});

test("chunks give the gradients of the whole batch, with dropout", async () => {
  const whole = await compute(withCopy, copied(), { dropout: 0.2 });
  const chunked = await compute(withCopy, copied(), { dropout: 0.2, chunkQuestions: 1 });
  assertNear([chunked.loss], [whole.loss], TOLERANCE);
  for (const [name, gradient] of whole.gradients)
    assertNear(chunked.gradients.get(name)!, gradient, TOLERANCE, name);
});

test.run();
