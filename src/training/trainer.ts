/** A trainer for loops of your own: any objective, one step at a time. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { checkPositions, type ModelConfig } from "../model/config.ts";
import { readConfig } from "../model/config-file.ts";
import { namesToStore } from "../model/weight-names.ts";
import { choice, type Given, integer, number } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { textPlaces } from "../text/tokens/token-places.ts";
import { loadTokenizer, type Tokenizer, tokenizerFile } from "../text/tokens/tokenizer.ts";
import type { StepLosses } from "./engine/engine.ts";
import { openEngine } from "./engine/open-engine.ts";
import { checkBatch, folderOf, type TrainingBatch, tokenExamples } from "./engine/text-batch.ts";
import { phrasesOf } from "./examples/step.ts";
import { readsAsTrained } from "./objectives/forward.ts";
import { OBJECTIVES, type ObjectiveName, objectivesOf } from "./objectives/index.ts";
import { checkObjectives, needsOf, type Objective } from "./objectives/objective.ts";
import type { TokenExample } from "./objectives/token-batch.ts";
import { requirePhraseKeys } from "./options/model-folder.ts";
import { PARTS, trainedParameters } from "./options/trained.ts";
import { saveModel, startingParameters } from "./run/parameters.ts";

type ObjectiveChoice = Objective | ObjectiveName;

const OPTIONS = {
  /**
   * What a step minimises: the weighted sum of the terms of one or several objectives. A name is
   * that of an option of `train`, with its default weights.
   */
  objective: z.custom<Objective | ObjectiveName | readonly (Objective | ObjectiveName)[]>(
    (given) => typeof given === "string" || (typeof given === "object" && given !== null),
    "an objective, or a list of them",
  ),
  /** The part of the model that is trained. Default: all that the objective uses. */
  train: choice(...PARTS).default("all"),
  /** The last layers of the part that are trained. Default: all. */
  layers: integer(1).optional(),
  /** Default 5e-5, as in the paper. */
  learningRate: number({ from: 0 }).default(5e-5),
  /** Dropout rate. Default: that of the model. */
  dropout: number({ from: 0, below: 1 }).optional(),
  /** Temperature of learned weights of all heads (ReAtt, section 2.2). Default: one head. */
  tau: number({ above: 0 }).optional(),
  /** Weight decay of matrices. Default 0.01. */
  weightDecay: number({ from: 0 }).default(0.01),
  /** Gradients with a larger norm are scaled down to it. Default 1. */
  clipNorm: number({ above: 0 }).default(1),
  /** Longer passages are cut. Default 512. */
  maxPassageTokens: integer(2).default(512),
  /** What computes steps. Default `onnxruntime`. */
  engine: choice("onnxruntime", "tensorflow").default("onnxruntime"),
  /** Determines dropout. Default 0. */
  seed: integer(0).default(0),
};

/** Options of {@link openTrainer}. */
export interface TrainerOptions extends Given<typeof OPTIONS> {}

/** A weight of a model in training. */
export interface TrainedWeight {
  /** Its axes; the values are in row-major order. */
  readonly shape: readonly number[];
  /** Its present values. */
  readonly value: Float32Array;
  /** The gradient of the last step, not clipped; 0 if the step does not train the weight. */
  readonly gradient: Float32Array;
}

/**
 * A model in training.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { labels, openTrainer } from "reatt/training";
 *
 * const paris = { id: "1", title: "Paris", text: "Paris is the capital of France." };
 * const rome = { id: "2", title: "Rome", text: "Rome is the capital of Italy." };
 * await using trainer = await openTrainer("models/reatt-mini", { objective: labels() });
 * const { loss, terms } = await trainer.step({
 *   questions: ["What is the capital of France?"],
 *   answers: ["Paris"],
 *   passages: [[paris, rome]],
 *   positives: [[0]],
 * });
 * console.log(loss === terms.labels); // true
 * await trainer.save(await mkdtemp(join(tmpdir(), "reatt-")));
 * ```
 */
export interface Trainer extends AsyncDisposable {
  /**
   * Computes the loss of a batch and updates the parameters by one step of AdamW.
   *
   * @param learningRate of this step. Default: that of the options.
   * @returns the loss before the step, and its terms. If it is not finite, nothing is updated.
   * @throws {InputError} if the batch has another number of answers or lists than questions
   */
  step(batch: TrainingBatch, learningRate?: number): Promise<StepLosses>;
  /**
   * The weights with their gradients, valid until the next step, by their names in the file of the
   * model: of a T5, those of Hugging Face, as `decoder.block.0.layer.0.SelfAttention.q.weight`.
   * After a step with the learning rate 0 they are those that the gradients belong to.
   */
  weights(): Promise<ReadonlyMap<string, TrainedWeight>>;
  /**
   * Writes the model, which `ReAtt.load` reads.
   *
   * @throws {InputError} if the disk refuses
   */
  save(folder: string): Promise<void>;
}

/** @throws {InputError} for a name that no objective has */
function objectivesOfChoice(choice: ObjectiveChoice): readonly Objective[] {
  if (typeof choice !== "string") return [choice];
  if (OBJECTIVES.includes(choice)) return objectivesOf(choice);
  throw new InputError({
    where: "objective",
    expected: OBJECTIVES.join(", "),
    got: excerpt(choice),
    remedy: "give one of these names, or an objective",
  });
}

/**
 * The configuration of the trained model: with phrase queries, if an objective trains them.
 *
 * @throws {InputError} if the model cannot have phrase queries
 */
async function configFor(folder: string, trainsPhrases: boolean): Promise<ModelConfig> {
  const config = await readConfig(folder);
  if (!trainsPhrases) return config;
  requirePhraseKeys(config, `${folder}: phrases`);
  return { ...config, phraseQueries: true };
}

/** The examples with the places of their answers in the positives. */
const withPhrases = (
  tokenizer: Tokenizer,
  { answers, passages }: TrainingBatch,
  examples: readonly TokenExample[],
): TokenExample[] =>
  examples.map((example, i) => ({
    ...example,
    phrases: phrasesOf(
      { answer: answers[i]!, passages: passages[i]! },
      example.positives ?? [],
      (passage, candidate) => textPlaces(tokenizer, passage, example.passages[candidate]!),
    ),
  }));

/**
 * Opens a model for steps on an objective: one of the papers' (`distillation`, `labels`, `reading`,
 * `likelihood`, `marginal`, `givenScores`, `answerPhrases`, …), several of them together, one of
 * your own (`defineObjective`), or what `train` minimises under a name (`"supervised"`).
 *
 * @param model - a model folder, or an object loaded from one, such as a `ReAtt`.
 * @throws {InputError} if the folder has no complete model, an option is out of range, two
 *   objectives have a term of the same name, or the engine is not installed
 *
 * @example
 * ```ts
 * import { distillation, openTrainer, reading } from "reatt/training";
 *
 * const paris = { id: "1", title: "Paris", text: "Paris is the capital of France." };
 * const rome = { id: "2", title: "Rome", text: "Rome is the capital of Italy." };
 * const objective = [reading(), distillation({ alpha: 8 })];
 * await using trainer = await openTrainer("models/reatt-mini", { objective });
 * const { terms } = await trainer.step({
 *   questions: ["What is the capital of France?"],
 *   answers: ["Paris"],
 *   passages: [[paris, rome]],
 * });
 * console.log(Object.keys(terms)); // [ 'nll', 'kl', 'ownProbability' ]
 * ```
 */
export async function openTrainer(
  model: string | { readonly folder: string },
  given: TrainerOptions,
): Promise<Trainer> {
  const options = resolveOptions(OPTIONS, given);
  const { objective, train: part, layers, tau, weightDecay, clipNorm, seed, engine } = options;
  const { learningRate: rate, maxPassageTokens } = options;
  const objectives = [objective].flat().flatMap(objectivesOfChoice);
  checkObjectives(objectives);
  const folder = folderOf(model);
  const needs = needsOf(objectives);
  const trainsPhrases = needs.has("phraseQueries");
  const config = await configFor(folder, trainsPhrases);
  checkPositions(config, maxPassageTokens);
  const tokenizer = await loadTokenizer(tokenizerFile(folder), config);
  const parameters = await startingParameters({ model: folder, config, seed, tau });
  const named = readsAsTrained(needs) ? "distillation" : "retrieval";
  const trained = trainedParameters(config, { part, layers, objective: named, tau });
  const { dropout = config.dropoutRate } = options;
  const run = { trained, tau, dropout, weightDecay, clipNorm };
  const opening = openEngine(config, parameters, run, { engine });
  let next = await opening.next();
  while (!next.done) next = await opening.next(); // events name the TensorFlow.js package
  const opened = next.value;
  let steps = 0;
  return {
    async step(batch, learningRate = rate) {
      checkBatch(batch);
      const plain = tokenExamples(tokenizer, batch, maxPassageTokens);
      const examples = trainsPhrases ? withPhrases(tokenizer, batch, plain) : plain;
      const step = ++steps;
      return await opened.step({ examples, objectives, step, learningRate, key: String(seed) });
    },
    async weights() {
      const states = await opened.parameters();
      const named = [...namesToStore(config)];
      return new Map(named.map(([name, stored]) => [stored, states.get(name)!]));
    },
    async save(to) {
      await saveModel(to, config, await opened.parameters(), { model: folder, seed });
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
