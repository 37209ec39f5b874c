/** Both engines have the same losses at each step, and the same parameters after some. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { ModelConfig } from "../../../src/model/config.ts";
import { loadTensorFlow } from "../../../src/tensor/tensorflow/load.ts";
import { type StepLosses, trainingEngine } from "../../../src/training/engine/engine.ts";
import type { ParameterState } from "../../../src/training/engine/optimizer.ts";
import {
  type ObjectiveName,
  type ObjectiveSettings,
  objectivesOf,
} from "../../../src/training/objectives/index.ts";
import { HEAD_WEIGHTS } from "../../../src/training/objectives/trained-parameters.ts";
import type { TrainedChoice } from "../../../src/training/options/trained.ts";
import { assertNear } from "../../support/arrays.ts";
import { BACKENDS } from "../../support/backends.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";
import { trainedBy } from "../../support/training-step.ts";

const STEPS = 5;
const LOSS_TOLERANCE = 1e-4; // float32 sums in different orders, after up to 4 separate steps
const MOMENT_TOLERANCE = 1e-3;
const UPDATE_TOLERANCE = 0.05; // AdamW also updates values whose gradient is a rounding error
const { tf } = await loadTensorFlow();

interface Trained {
  readonly losses: readonly StepLosses[];
  readonly states: ReadonlyMap<string, ParameterState>;
}

interface Setting extends ObjectiveSettings, Partial<TrainedChoice> {
  readonly objective: ObjectiveName;
  readonly weightDecay?: number;
}

const OBJECTIVES: Readonly<Record<string, Setting>> = {
  "distillation into all heads": { objective: "distillation", tau: 0.5 },
  "distillation into one head": { objective: "distillation" },
  "distillation without in-batch negatives": {
    objective: "distillation",
    inBatchNegatives: false,
  },
  "relevance into one head": { objective: "supervised" },
  "retrieval alone": { objective: "retrieval" },
  "retrieval alone, all heads": { objective: "retrieval", tau: 0.5 },
  "the query projection, retrieval alone": { objective: "retrieval", part: "query" },
  "the query projection alone": {
    objective: "distillation",
    part: "query",
    weightDecay: 0,
  },
  "the query encoder alone": { objective: "distillation", part: "query", layers: 1 },
  "marginal likelihood": { objective: "marginal" },
  "answers alone": { objective: "qa" },
  "answers and copy attention": { objective: "qa", copyAttention: 0.5 },
};

/** Steps with dropout. */
async function trainOn(
  engine: keyof typeof BACKENDS,
  config: ModelConfig,
  setting: Setting,
): Promise<Trained> {
  const { tau, weightDecay } = setting;
  const states = trainedStates(config, { mixed: tau !== undefined });
  const trained = trainedBy(config, setting);
  const options = {
    ...{ trained, tau, dropout: 0.1, weightDecay },
    withoutDecay: new Set(trained.rows.keys()),
    clippedApart: new Set([HEAD_WEIGHTS]),
  };
  const objectives = objectivesOf(setting.objective, { alpha: 2, ...setting });
  const backend = await BACKENDS[engine](config, states, options);
  await using training = trainingEngine(config, states, options, backend);
  const losses: StepLosses[] = [];
  const examples = randomExamples(config, 3, 2).map((example, i) => ({
    ...example,
    answer: i % 2 ? [...example.passages[1]!.slice(1, 3), 1] : example.answer,
    positives: i === 2 ? [] : [i % 2],
    scores: i === 0 ? [] : [i, 1.5],
  }));
  for (let step = 1; step <= STEPS; step++)
    losses.push(
      await training.step({ examples, objectives, step, learningRate: 0.01 / step, key: "key" }),
    );
  await training.parameters();
  return { losses, states };
}

const { "v1.1": gated, "v1.0 tied": tied } = TINY_MODELS as Record<string, ModelConfig>;
const CASES = [
  ...Object.keys(OBJECTIVES).map((title) => {
    const queryEncoder = OBJECTIVES[title]!.part === "query" && OBJECTIVES[title]!.layers === 1;
    return [`v1.1, ${title}`, { ...gated!, queryEncoder }, title] as const;
  }),
  ["v1.0 tied, marginal likelihood", tied!, "marginal likelihood"] as const,
];

for (const [name, config, title] of CASES)
  test(`${name}: ${STEPS} steps on both engines`, async () => {
    const changes = OBJECTIVES[title]!;
    const before = trainedStates(config, { mixed: changes.tau !== undefined });
    const onnx = await trainOn("onnxruntime", config, changes);
    const tensors = tf.memory().numTensors;
    const tensorflow = await trainOn("tensorflow", config, changes);
    assert.is(tf.memory().numTensors, tensors, "tensors not disposed of");
    for (const [i, { loss, terms, gradientNorm }] of onnx.losses.entries()) {
      const other = tensorflow.losses[i]!;
      const [expected, actual] = [
        [loss, ...Object.values(terms)],
        [other.loss, ...Object.values(other.terms)],
      ];
      assertNear(actual, expected, LOSS_TOLERANCE, `step ${i + 1}`);
      assertNear([other.gradientNorm], [gradientNorm], MOMENT_TOLERANCE, `step ${i + 1}`);
    }
    for (const [name, { value, firstMoment, secondMoment }] of onnx.states) {
      const other = tensorflow.states.get(name)!;
      const update = (now: Float32Array) => now.map((x, i) => x - before.get(name)!.value[i]!);
      assertNear(other.firstMoment, firstMoment, MOMENT_TOLERANCE, `first moment of ${name}`);
      assertNear(other.secondMoment, secondMoment, MOMENT_TOLERANCE, `second moment of ${name}`);
      assertNear(update(other.value), update(value), UPDATE_TOLERANCE, name);
    }
  });

test.run();
