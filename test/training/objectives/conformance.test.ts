/**
 * What every objective promises, for each function of src/training/objectives that makes one, and
 * for each name of an option: its terms change the gradient, are logged and have a chart; gradients
 * equal central differences; chunks give the gradients of the batch; both engines agree.
 *
 * A new objective fails here until `MADE` has it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../../src/math/random.ts";
import type { ModelConfig } from "../../../src/model/config.ts";
import { inferenceContext } from "../../../src/model/layers/context.ts";
import type { Ops } from "../../../src/tensor/ops.ts";
import { chunksOf } from "../../../src/training/gradient-cache/chunks.ts";
import { copyAttention } from "../../../src/training/objectives/copy-attention.ts";
import { distillation } from "../../../src/training/objectives/distillation.ts";
import { givenScores } from "../../../src/training/objectives/given-scores.ts";
import { OBJECTIVES, objectivesOf } from "../../../src/training/objectives/index.ts";
import { labels } from "../../../src/training/objectives/labels.ts";
import { likelihood } from "../../../src/training/objectives/likelihood.ts";
import { marginal } from "../../../src/training/objectives/marginal.ts";
import { type Objective, termsOf } from "../../../src/training/objectives/objective.ts";
import { type ChunkInputs, chunkPass } from "../../../src/training/objectives/passes.ts";
import { answerPhrases } from "../../../src/training/objectives/phrases.ts";
import { reading } from "../../../src/training/objectives/reading.ts";
import {
  type TokenExample,
  withDistinctPassages,
} from "../../../src/training/objectives/token-batch.ts";
import { buildTrainedParameters } from "../../../src/training/objectives/trained-parameters.ts";
import { chartsOf } from "../../../src/training/report/charts.ts";
import { assertNear } from "../../support/arrays.ts";
import { type NaiveTensor, naiveOps } from "../../support/naive-ops.ts";
import { TINY_MODELS, tinyConfig } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";
import {
  type ComputedStep,
  computeSteps,
  ENGINES,
  type StepSetting,
  trainsAll,
} from "../../support/training-step.ts";

/** One of each function that makes an objective, by the name of the function. */
const MADE: Readonly<Record<string, Objective>> = {
  reading: reading(),
  copyAttention: copyAttention(0.5),
  distillation: distillation({ alpha: 2 }),
  labels: labels({ weight: 1.5 }),
  givenScores: givenScores({ temperature: 2 }),
  likelihood: likelihood({ alpha: 2 }),
  marginal: marginal(),
  answerPhrases: answerPhrases({ weight: 0.7 }),
};

/** All objectives of an option, with everything that can be added to them. */
const ALL_SETTINGS = { alpha: 2, copyAttention: 0.5, phraseLoss: 0.7, scoreTemperature: 2 };

const CASES: Readonly<Record<string, readonly Objective[]>> = {
  ...Object.fromEntries(Object.entries(MADE).map(([name, objective]) => [name, [objective]])),
  ...Object.fromEntries(
    OBJECTIVES.map((name) => [`objective ${name}`, objectivesOf(name, ALL_SETTINGS)]),
  ),
  "own candidates alone": [
    ...objectivesOf("supervised", { ...ALL_SETTINGS, inBatchNegatives: false }),
  ],
};

const config = tinyConfig({ phraseQueries: true });
const QUESTIONS = 6;
const EACH = 3;
const drawn = randomExamples(config, QUESTIONS, EACH);
const shared = drawn[0]!.passages[0]!;
/**
 * Every second answer occurs in a passage. Question 1 has no answer, the last no positive. All
 * questions have one passage in common, question 2 has fewer candidates, and question 3 has a
 * relevant passage that is not among its candidates.
 */
const examples = drawn.map((example, i): TokenExample => {
  const passages = [shared, ...example.passages.filter((passage) => passage !== shared)];
  const count = i === 2 ? EACH - 1 : EACH;
  const positives = i + 1 < QUESTIONS ? [i % EACH, 0].filter((k) => k < count) : [];
  return {
    question: example.question,
    answer: i === 1 ? [] : i % 2 ? [...passages[1]!.slice(1, 3), 1] : example.answer,
    passages: passages.slice(0, count),
    positives,
    isLabelled: i > 2,
    scores: i > 3 ? passages.map((_, k) => (k === 1 ? undefined : i - 2.5 * k)) : undefined,
    notNegatives: i === 3 ? [drawn[0]!.passages[1]!, shared] : [],
    phrases: i === 0 || i === 3 ? [{ candidate: 0, first: 0, last: 1 }] : [],
  };
});

test("every function that makes an objective is here", () => {
  const folder = "src/training/objectives";
  const functions = readdirSync(folder).flatMap((file) => {
    const text = readFileSync(`${folder}/${file}`, "utf8");
    if (!text.includes("  defineObjective(") && !text.includes("return defineObjective("))
      return [];
    return [
      ...text.matchAll(/export (?:const|function) (\w+)[^;{]*?(?:\{[^}]*\})?[^;]*?: Objective\b/g),
    ].map(([, name]) => name!);
  });
  assert.ok(functions.length >= 7);
  assert.equal([...functions].sort(), Object.keys(MADE).sort());
});

const normOf = (gradients: ReadonlyMap<string, Float32Array>): number =>
  Math.hypot(...[...gradients.values()].map((gradient) => Math.hypot(...gradient)));

/** The norm of a difference of gradients, relative to that of the gradient. */
function relativeDifference(expected: ComputedStep, actual: ComputedStep): number {
  const parts = [...expected.gradients].map(([name, gradient]) => {
    const others = actual.gradients.get(name)!;
    return Math.hypot(...gradient.map((x, i) => x - others[i]!));
  });
  return Math.hypot(...parts) / normOf(expected.gradients);
}

/** The whole batch, and the batch in chunks of two questions. */
const SIZES = [QUESTIONS, 2];

async function wholeAndChunked(
  engine: (typeof ENGINES)[number],
  objectives: readonly Objective[],
  { model, sizes = SIZES, ...setting }: Setting = {},
): Promise<[whole: ComputedStep, chunked: ComputedStep]> {
  const changed = { ...config, ...model };
  const states = trainedStates(changed, { mixed: setting.tau !== undefined });
  const steps = sizes.map((chunkQuestions) => ({ examples, objectives, chunkQuestions }));
  const computed = await computeSteps(engine, changed, states, setting, steps);
  return computed as [ComputedStep, ComputedStep];
}

interface Setting extends StepSetting {
  readonly model?: Partial<ModelConfig>;
  readonly sizes?: readonly number[];
}

function sameInChunks([whole, chunked]: readonly [ComputedStep, ComputedStep], what: string): void {
  assertNear([chunked.loss], [whole.loss], 1e-6, what);
  for (const [name, value] of Object.entries(whole.terms))
    assert.ok(Math.abs(chunked.terms[name]! - value) <= 2e-6 * Math.max(1, Math.abs(value)), name);
  const difference = relativeDifference(whole, chunked);
  assert.ok(difference <= 1e-6, `${what}: gradients differ by ${difference}`);
}

for (const [title, objectives] of Object.entries(CASES))
  test(title, async () => {
    const onOnnx = await wholeAndChunked("onnxruntime", objectives);
    const [whole] = onOnnx;
    checkTerms(objectives, whole);
    checkDifferences(objectives, whole);
    sameInChunks(onOnnx, "onnxruntime");
    if (objectives.length > 1) return; // each of them is tested by itself
    const onTensorFlow = await wholeAndChunked("tensorflow", objectives);
    sameInChunks(onTensorFlow, "tensorflow");
    const difference = relativeDifference(whole, onTensorFlow[0]);
    assert.ok(difference < 1e-5, `the engines differ by ${difference}`);
  });

/** Each term is logged and has a chart. The loss is their weighted sum, and has a gradient. */
function checkTerms(objectives: readonly Objective[], { terms, loss, gradients }: ComputedStep) {
  const expected = termsOf(objectives);
  assert.equal(Object.keys(terms).sort(), [...expected.keys()].sort());
  const sum = [...expected].reduce((total, [name, { weight }]) => total + weight * terms[name]!, 0);
  assertNear([loss], [sum], 1e-6, "the loss is the weighted sum");
  assert.ok(normOf(gradients) > 1e-3);
  const charts = chartsOf([{ step: 1, ...terms, loss }], { terms: expected });
  for (const [name, { title, meaning }] of expected) {
    assert.is(charts.find((chart) => chart.title === title)?.meaning, meaning, name);
    assert.match(meaning, /^[A-Z].{30,}\.$/);
  }
}

/**
 * Compares the gradients with differences of the loss in float64, along a random direction in the
 * space of all parameters. `stopGradient` gives what it gave at the parameters themselves.
 */
function checkDifferences(objectives: readonly Objective[], { gradients, loss }: ComputedStep) {
  const states = trainedStates(config);
  const lossAt = lossFunction(objectives, states);
  assertNear([loss], [lossAt(new Map(), 0)], 1e-5);
  const direction = new Map(
    [...states].map(([name, { value }]) => {
      const random = createRandom("direction", name);
      return [name, Float64Array.from(value, () => 2 * random.next() - 1)];
    }),
  );
  const STEP = 1e-6;
  const difference = (lossAt(direction, STEP) - lossAt(direction, -STEP)) / (2 * STEP);
  let derivative = 0;
  for (const [name, gradient] of gradients)
    for (const [i, value] of gradient.entries()) derivative += value * direction.get(name)![i]!;
  assertNear([derivative], [difference], 2e-4);
}

/** The loss of the whole batch in float64, at the parameters moved along a direction. */
function lossFunction(
  objectives: readonly Objective[],
  states: ReturnType<typeof trainedStates>,
): (direction: ReadonlyMap<string, Float64Array>, distance: number) => number {
  const plan = { objectives };
  const distinct = examples.map(withDistinctPassages);
  const [chunk] = chunksOf(config, distinct, QUESTIONS, plan, objectives);
  const trained = trainsAll(states);
  const constants: NaiveTensor[] = [];
  return (direction, distance) => {
    let stopped = 0;
    const stopGradient = (x: NaiveTensor): NaiveTensor => {
      const constant = constants[stopped] ?? x;
      constants[stopped++] = constant;
      return constant;
    };
    const ops: Ops<NaiveTensor> = { ...naiveOps, stopGradient };
    const context = inferenceContext(ops, config);
    const parameters = buildTrainedParameters<NaiveTensor>(
      ops,
      config,
      { trained },
      (name, shape) => {
        const moves = direction.get(name);
        const { value } = states.get(name)!;
        return {
          data: Float64Array.from(value, (x, i) => x + distance * (moves?.[i] ?? 0)),
          shape,
        };
      },
    );
    const contexts = { questions: context, passages: context };
    const input = chunk!.tensors as unknown as ChunkInputs<NaiveTensor>;
    return chunkPass(contexts, parameters, input, plan).loss.data[0]!;
  };
}

/** Objectives of several kinds, with models and settings that change how they are computed. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  "dropout, and a last chunk that is smaller": { dropout: 0.2, sizes: [QUESTIONS, 4] },
  "all heads": { tau: 0.5 },
  "vectors pooled": { model: tinyConfig({ pooling: "mean", similarity: "cosine" }) },
  "cosines of a model that copies": {
    model: tinyConfig({ similarity: "cosine", copying: true }),
  },
  "joint layers": { model: TINY_MODELS["joint layers"]!, sizes: [QUESTIONS, 1] },
};

for (const engine of ENGINES)
  for (const [title, { model, ...setting }] of Object.entries(SETTINGS))
    test(`${engine}, ${title}: chunks give the gradients of the batch`, async () => {
      const changed = { phraseQueries: false, ...model };
      for (const name of ["supervised", "likelihood", "marginal"] as const) {
        const objectives = objectivesOf(name, { ...ALL_SETTINGS, phraseLoss: 0 });
        const computed = await wholeAndChunked(engine, objectives, { ...setting, model: changed });
        sameInChunks(computed, name);
      }
    });

for (const engine of ENGINES)
  test(`${engine}: the key determines dropout, and gradients add up`, async () => {
    const states = trainedStates(config);
    const batch = { examples, objectives: MADE.distillation ? [MADE.distillation] : [] };
    const step = { ...batch, chunkQuestions: 3 };
    const setting = { dropout: 0.2, adds: true };
    const [first, twice, other] = (await computeSteps(engine, config, states, setting, [
      step,
      step,
      { ...step, key: "other" },
    ])) as [ComputedStep, ComputedStep, ComputedStep];
    assert.is(first.loss, twice.loss); // bit for bit
    assert.is.not(first.loss, other.loss);
    for (const [name, gradient] of first.gradients)
      assertNear(
        twice.gradients.get(name)!,
        gradient.map((x) => 2 * x),
        1e-5,
        name,
      );
  });

test.run();
