/** Trains a model from questions and answers. Source: ReAtt (Jiang et al. 2022), section 3. */

import { basename, join } from "node:path";
import { modelTitle } from "../hub/model-title.ts";
import { createOutputDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { cardEntries } from "../options/records.ts";
import { openCorpus } from "./examples/corpus.ts";
import {
  fittingQuestions,
  questionExamples,
  questionSource,
  readQuestionsAbout,
} from "./examples/training-questions.ts";
import { withCandidates } from "./examples/with-candidates.ts";
import { withModelFolder } from "./options/model-folder.ts";
import { TRAIN_OPTIONS, type TrainOptions, withDefaults } from "./options/train-options.ts";
import { writeModelCard } from "./run/card.ts";
import { findRun } from "./run/checkpoint.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import { readStartingModel } from "./run/parameters.ts";
import { candidateSettings, resolveRun } from "./run/run.ts";
import { checkFree, runFolder } from "./run/run-folder.ts";
import { type RunKind, readRunRecord, withRecord, writeRunRecord } from "./run/run-record.ts";
import { runTraining } from "./run/run-training.ts";
import { verdictOf } from "./verdict/verdict.ts";

/**
 * Trains a model from questions and answers with the loss of ReAtt,
 *
 *     L = L_QA + alpha KL(P_tgt || P_ret)     (Eq. 3)
 *
 * and writes it to `options.out`, with a model card. The log, the report and the checkpoints are in
 * `options.out.run`.
 *
 * If `signal` aborts, the run saves a checkpoint and returns. After a crash there is the last
 * periodic checkpoint. `{ out, resume: true }` continues a run. On the provider "cpu" a resumed run
 * ends with the same parameters, bit for bit, as a run that was not stopped.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.
 *
 * With `dev` it keeps the best measured model, which can be the given one; else the last one.
 *
 * @returns where the model and the report are, and what the run brought on dev
 * @throws {InputError} if a file or an option cannot be used, and if a loss is not finite.
 *
 * @example
 * ```ts no-run
 * import { train } from "reatt/training";
 *
 * const run = train({
 *   model: "models/reatt-mini",
 *   corpus: "data/squad/corpus.jsonl",
 *   data: "questions.jsonl",
 *   out: "runs/squad",
 *   steps: 100,
 * });
 * for (let next = await run.next(); ; next = await run.next()) {
 *   if (next.done) {
 *     console.log(`the model is in ${next.value.folder}`);
 *     break;
 *   }
 *   if (next.value.type === "step") console.log(next.value.step, next.value.losses.loss);
 * }
 * ```
 */
export async function* train(given: TrainOptions): AsyncGenerator<TrainingEvent, TrainingResult> {
  const started = performance.now();
  const located = yield* withModelFolder(await withRecorded(given));
  const options = withDefaults(located);
  await checkFree(options.out);
  yield { type: "stage", name: "reading the corpus" };
  await using corpus = await openCorpus(options.corpus, {
    signal: options.signal,
    bm25: options.dev !== undefined,
  });
  const start = await readStartingModel(options.model);
  if (!start.hasWeights)
    yield { type: "stage", name: `${options.model} has no weights: beginning with random ones` };
  const run = resolveRun(options, start, corpus);
  const leftOut: string[] = [];
  const tell = (what: string) => leftOut.push(what);
  const all = await readQuestionsAbout(corpus, options.data, options.signal, tell);
  const read = await fittingQuestions(options.model, all, tell);
  for (const what of leftOut) yield { type: "stage", name: `left out: ${what}` };
  const questions = questionExamples(read);
  const data = withCandidates(candidateSettings(run), corpus, questionSource, questions);
  const found = await findRun(run.out, run.resume);
  await createOutputDirectory(run.folder);
  if (!found) await writeRunRecord(TRAINING, options);
  const before = found?.seconds ?? 0;
  const kind = `Training of ${modelTitle(run.model)} on ${basename(options.data)}`;
  const parts = [{ name: questionSource.name, digest: data.digest, file: options.data }];
  const result = yield* runTraining(run, { ...data, kind, parts }, corpus);
  if (result.failure !== undefined) throw diverged(result.failure, result);
  if (!result.finished) return result;
  const file = basename(options.data);
  await writeModelCard(run, {
    isBased: start.hasWeights,
    description: `A ReAtt model trained on questions and answers of ${file}.`,
    corpus: { file: options.corpus, passages: corpus.size, digest: corpus.digest },
    trainedOn: `${file}, ${questions.length} questions`,
    data: data.digest,
    training: result,
    verdict: result.outcome ? verdictOf(result) : "no verdict: the run had no dev questions",
    seconds: before + (performance.now() - started) / 1000,
    options: cardEntries(TRAIN_OPTIONS, { ...options }),
  });
  return result;
}

const TRAINING: RunKind = { name: "training", options: TRAIN_OPTIONS };

/** With the options of the run, if it is resumed. Those that are given are not checked yet. */
async function withRecorded(given: TrainOptions): Promise<TrainOptions> {
  if (typeof given?.out !== "string" || given.resume !== true) return given;
  const record = await readRunRecord(TRAINING, given.out);
  return record ? withRecord(given, record) : given;
}

function diverged(failure: string, { folder, checkpoint }: TrainingResult): InputError {
  const saved =
    checkpoint === undefined
      ? "there is no checkpoint yet"
      : `the checkpoint of step ${checkpoint} is in ${join(runFolder(folder), "checkpoint")}`;
  return new InputError({
    where: "training",
    expected: "a finite loss and gradient",
    got: failure,
    remedy: `begin again with a lower learning rate; ${saved}`,
  });
}
