/** Trains a model from questions and answers. Source: ReAtt (Jiang et al. 2022), section 3. */

import { join } from "node:path";
import { InputError } from "../io/errors.ts";
import { openCorpus } from "./examples/corpus.ts";
import { questionExamples } from "./examples/sources/questions.ts";
import { readQuestionsAbout } from "./examples/training-questions.ts";
import { withCandidates } from "./examples/with-candidates.ts";
import { withModelFolder } from "./options/model-folder.ts";
import { withModelTau } from "./options/model-tau.ts";
import { type TrainOptions, withDefaults } from "./options/train-options.ts";
import { candidateSettings } from "./run/candidate-settings.ts";
import type { TrainingEvent, TrainingResult } from "./run/events.ts";
import { runTraining } from "./run/run-training.ts";
import { needsHead, selectHead, selectMissingHead } from "./run/select-head.ts";
import { readTrainedConfig } from "./run/starting-parameters.ts";

/**
 * Trains a model from questions and answers with the loss of ReAtt,
 *
 *     L = L_QA + alpha KL(P_tgt || P_ret)     (Eq. 3)
 *
 * and writes it to `options.out`, with a log, a report and checkpoints.
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
 *   data: "data/squad/train.jsonl",
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
  const located = yield* withModelFolder(given);
  const options = withDefaults(await withModelTau(located));
  const config = await readTrainedConfig(options);
  const isHeadMissing = await needsHead(options);
  yield { type: "stage", name: "reading the corpus" };
  await using corpus = await openCorpus(options.corpus, {
    signal: options.signal,
    bm25: options.dev !== undefined || options.selectHead || isHeadMissing, // all need it
  });
  const questions = questionExamples(
    await readQuestionsAbout(corpus, options.data, options.signal),
  );
  const retrievalHead = options.selectHead
    ? yield* selectHead(options, config, corpus, questions)
    : isHeadMissing
      ? yield* selectMissingHead(options, config, corpus, questions)
      : config.retrievalHead;
  const data = withCandidates(candidateSettings(options), corpus, "questions", questions);
  const result = yield* runTraining(options, { ...config, retrievalHead }, data, corpus);
  if (result.failure !== undefined) throw diverged(result.failure, result);
  return result;
}

function diverged(failure: string, { folder, checkpoint }: TrainingResult): InputError {
  const saved =
    checkpoint === undefined
      ? "there is no checkpoint yet"
      : `the checkpoint of step ${checkpoint} is in ${join(folder, "checkpoint")}`;
  return new InputError({
    where: "training",
    expected: "a finite loss and gradient",
    got: failure,
    remedy: `begin again with a lower learning rate; ${saved}`,
  });
}
