/** Trains a model from questions and answers. Source: ReAtt (Jiang et al. 2022), section 3. */

import { basename, join } from "node:path";
import { modelTitle } from "../hub/model-title.ts";
import { InputError } from "../io/errors.ts";
import { cardEntries } from "../options/records.ts";
import { type Corpus, openCorpus } from "./examples/corpus.ts";
import {
  questionExamples,
  questionSource,
  readQuestionsAbout,
} from "./examples/training-questions.ts";
import { withCandidates } from "./examples/with-candidates.ts";
import { withModelFolder } from "./options/model-folder.ts";
import {
  TRAIN_OPTIONS,
  type TrainOptions,
  type TrainRequest,
  withDefaults,
} from "./options/train-options.ts";
import { measuresTable, writeModelCard } from "./run/card.ts";
import { findRun } from "./run/checkpoint.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import { readStartingModel } from "./run/parameters.ts";
import { candidateSettings, resolveRun } from "./run/run.ts";
import { checkFree, runFolder } from "./run/run-folder.ts";
import { runTraining } from "./run/run-training.ts";

/**
 * Trains a model from questions and answers with the loss of ReAtt,
 *
 *     L = L_QA + alpha KL(P_tgt || P_ret)     (Eq. 3)
 *
 * and writes it to `options.out`, with a model card. The log, the report and the checkpoints are in
 * `options.out.run`.
 *
 * If `signal` aborts, the run saves a checkpoint and returns. After a crash there is the last
 * periodic checkpoint. `resume` continues a run. On the provider "cpu" a resumed run ends with the
 * same parameters, bit for bit, as a run that was not stopped.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.
 *
 * @returns where the model and the report are, and the measures on dev
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
  const located = yield* withModelFolder(given);
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
  const questions = questionExamples(
    await readQuestionsAbout(corpus, options.data, options.signal),
  );
  const data = withCandidates(candidateSettings(run), corpus, questionSource, questions);
  const before = (await findRun(run.out, run.resume))?.seconds ?? 0;
  const kind = `Training of ${modelTitle(run.model)} on ${basename(options.data)}`;
  const result = yield* runTraining(run, { ...data, kind }, corpus);
  if (result.failure !== undefined) throw diverged(result.failure, result);
  if (!result.finished) return result;
  const seconds = before + (performance.now() - started) / 1000;
  const isBased = start.hasWeights;
  const content = { corpus, data: data.digest, questions: questions.length, seconds, isBased };
  await writeTrainingCard(options, result, content);
  return result;
}

interface CardContent {
  readonly corpus: Pick<Corpus, "size" | "digest">;
  /** SHA-256 of the questions. */
  readonly data: string;
  readonly questions: number;
  readonly seconds: number;
  /** Whether the given model has weights. */
  readonly isBased: boolean;
}

async function writeTrainingCard(
  options: TrainRequest,
  { step, before, after }: TrainingResult,
  { corpus, data, questions, seconds, isBased }: CardContent,
): Promise<void> {
  const { out, model, dev, devQuestions } = options;
  const file = basename(options.data);
  const of = dev && `the first ${devQuestions} questions of ${basename(dev)} at most`;
  await writeModelCard({
    ...{ out, model, isBased, data, seconds },
    description: `A ReAtt model trained on questions and answers of ${file}.`,
    corpus: { file: options.corpus, passages: corpus.size, digest: corpus.digest },
    trainedOn: `${file}, ${questions} questions`,
    facts: [["ended", `after step ${step}${of ? "; this is the best model on dev" : ""}`]],
    figures:
      of && before && after
        ? `Answers, and retrieval by the model alone, on ${of}. They chose the step, so "after" is slightly too high.

${measuresTable([
  ["before", before],
  ["after", after],
])}`
        : "None were measured: the run had no dev questions.",
    options: cardEntries(TRAIN_OPTIONS, { ...options }),
  });
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
