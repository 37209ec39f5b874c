/** Small batches, models and runs for the tests of training. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { createRandom } from "../../src/math/random.ts";
import { headLayer, type ModelConfig } from "../../src/model/config.ts";
import { writeConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterNames, parameterShapes, TOKEN_WEIGHTS } from "../../src/model/parameter-names.ts";
import { namesToStore } from "../../src/model/weight-names.ts";
import { type ParameterState, parameterState } from "../../src/training/engine/optimizer.ts";
import type { TokenExample } from "../../src/training/objectives/token-batch.ts";
import { HEAD_WEIGHTS, LOG_SCALE } from "../../src/training/objectives/trained-parameters.ts";
import { type TrainOptions, withDefaults } from "../../src/training/options/train-options.ts";
import { type Run, resolveRun } from "../../src/training/run/run.ts";
import { randomIds, randomWeights, type TinyChanges, tinyConfig } from "./tiny-model.ts";

/** One thread: the graphs are too small for more, and the machine has other tests to run. */
export const ONE_THREAD = { threads: 1 } as const;

/** `questions` examples of `each` passages of different lengths. Questions share some passages. */
export function randomExamples(
  config: ModelConfig,
  questions: number,
  each: number,
): TokenExample[] {
  const random = createRandom("examples", questions, each);
  const ids = (low: number, ...seed: (number | string)[]): number[] =>
    randomIds(config, low + random.integer(4), ...seed);
  const pool = Array.from({ length: questions * each - 2 }, (_, i) => [...ids(3, "passage", i), 1]);
  return Array.from({ length: questions }, (_, i) => ({
    question: [...ids(2, "question", i), 1],
    answer: [...ids(1, "answer", i), 1],
    passages: random.shuffle(pool).slice(0, each),
  }));
}

/** What training holds of a model with random weights; head weights only where heads are mixed. */
export function trainedStates(
  config: ModelConfig,
  { mixed = false }: { mixed?: boolean } = {},
): Map<string, ParameterState> {
  const weights = randomWeights(config, "training");
  const states = new Map(
    [...parameterShapes(config)].map(([name, shape]) => [
      name,
      parameterState(shape, weights.get(name)!),
    ]),
  );
  states.set(LOG_SCALE, parameterState([], Float32Array.of(-0.7)));
  if (mixed) {
    const { heads } = headLayer(config);
    const headWeights = Float32Array.from({ length: heads }, (_, head) => 0.3 * head);
    states.set(HEAD_WEIGHTS, parameterState([heads], headWeights));
  }
  return states;
}

/** A folder that goes away with `await using`. */
export function temporaryFolder(): { readonly path: string } & AsyncDisposable {
  const path = mkdtempSync(join(tmpdir(), "reatt-training-"));
  return {
    path,
    [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The tokenizer of all models here. */
export const TOKENIZER: string = resolve("test/fixtures/small-vocabulary/spiece.model");
/** As for T5, more than the tokenizer has. */
const VOCABULARY_SIZE = 4_224;

/** Makes a folder with a model of `config`, but with the vocabulary of the tokenizer. */
export async function makeTinyModel(folder: string, config: ModelConfig): Promise<ModelConfig> {
  mkdirSync(folder);
  return await writeRandomModel(folder, { ...config, vocabularySize: VOCABULARY_SIZE }, true);
}

/** A model folder with this tokenizer. `changes` apply to its configuration. */
export const writeTinyModel = (
  folder: string,
  { weights = true, ...changes }: TinyChanges & { weights?: boolean } = {},
): Promise<ModelConfig> =>
  writeRandomModel(
    folder,
    tinyConfig({ vocabularySize: VOCABULARY_SIZE, tied: true, ...changes }),
    weights,
  );

async function writeRandomModel(
  folder: string,
  config: ModelConfig,
  hasWeights: boolean,
): Promise<ModelConfig> {
  await writeConfig(folder, config);
  await copyFile(TOKENIZER, join(folder, "spiece.model"));
  if (hasWeights) {
    const random = randomWeights(config, "model");
    const names = namesToStore(config);
    const tensors = [...parameterShapes(config)].map(
      ([name, shape]) => [names.get(name)!, { shape, values: random.get(name)! }] as const,
    );
    await writeSafetensors(join(folder, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  }
  return config;
}

/** JSON Lines. */
/**
 * A tiny model whose queries equal its keys, so that equal words match before training.
 *
 * @param path of a new folder
 * @param table token weights of a model that has them
 */
export async function writeLexicalModel(
  path: string,
  changes: TinyChanges = {},
  table?: Float32Array,
): Promise<ModelConfig> {
  mkdirSync(path);
  const config = await writeTinyModel(path, { headSize: 16, dropoutRate: 0, ...changes });
  const weights = await loadWeights(path, config);
  const { query, key } = parameterNames(config).heads;
  weights.get(key.weight)!.set(weights.get(query.weight)!);
  if (table) weights.set(TOKEN_WEIGHTS, table);
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, { shape, values: weights.get(name)! }] as const,
  );
  await writeSafetensors(join(path, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  await writeConfig(path, config);
  return config;
}

export function writeLines(file: string, records: readonly unknown[]): string {
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  return file;
}

/**
 * Writes a model, a corpus, questions and dev data to `folder`. Returns the options of a run of
 * two iterations with two steps each.
 */
export async function writeSmallRun(
  folder: string,
): Promise<TrainOptions & Readonly<Record<"model" | "corpus" | "data", string>>> {
  const model = join(folder, "model");
  mkdirSync(model);
  await writeTinyModel(model);
  const towns = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta".split(" ");
  const passages = towns.map((title, i) => ({
    id: `${i}`,
    title,
    text: `The number of ${title} is ${i + 10}.`,
  }));
  const questions = passages.map(({ id, title }, i) => ({
    ...{
      id,
      question: `What is the number of ${title}?`,
      answers: [`${i + 10}`, `number ${i + 10}`],
    },
    passage_id: id,
  }));
  return {
    ...{
      model,
      out: join(folder, "out"),
      iterations: 2,
      steps: 2,
      questions: 3,
      candidatesPerQuestion: 3,
    },
    ...{ learningRate: 0.01, seed: 5 },
    corpus: writeLines(join(folder, "corpus.jsonl"), passages),
    data: writeLines(join(folder, "train.jsonl"), questions.slice(2)),
    dev: writeLines(join(folder, "dev.jsonl"), questions.slice(0, 2)),
  };
}

/** The run of some options and the tiny model, over a corpus of 1,000 passages. */
export const runOf = (options: TrainOptions, changes: TinyChanges = {}): Run =>
  resolveRun(
    withDefaults(options),
    { config: tinyConfig(changes), hasWeights: true, namesHead: true },
    { size: 1_000 },
  );

/** Options as arguments of the command line: a file has them. */
export function argumentsOf(options: object): string[] {
  const file = join(mkdtempSync(join(tmpdir(), "reatt-options-")), "options.json");
  writeFileSync(file, JSON.stringify(options));
  return ["--options", file];
}
