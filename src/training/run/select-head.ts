/** Chooses the head that retrieves by what the heads of a model do that was not trained to retrieve (probe-heads.ts). */

import { hasWeights } from "../../checkpoints/open.ts";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import type { ModelConfig } from "../../model/config.ts";
import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import { readPassages } from "../../text/read-passages.ts";
import { bm25Candidates, findCandidates } from "../data/candidates.ts";
import { type CorpusSurvey, pickPassages } from "../data/corpus.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { findRun } from "./checkpoint.ts";
import type { TrainingEvent } from "./events.ts";
import { type HeadSelectionQuestion, rankHeads } from "./rank-heads.ts";

const QUESTIONS = 100;
/** Of BM25 for each question, some with an answer and some without; the paper looks at 100. */
const PASSAGES = 20;

/**
 * The head of the retrieval layer that retrieves best, or of a run that is resumed the one that it began with.
 *
 * @throws {InputError} for a model without weights, with `tau`, and where no passages can be told apart by an answer.
 */
export async function* selectHead(
  options: ResolvedOptions,
  config: ModelConfig,
  corpus: CorpusSurvey,
  questions: readonly TrainingQuestion[],
): AsyncGenerator<TrainingEvent, number> {
  if (options.tau !== undefined)
    throw problem(
      "one head, as a fixed one retrieves",
      `tau ${options.tau}, which mixes all`,
      "leave tau out",
    );
  if (!(await hasWeights(options.model)))
    throw problem(
      "a model with weights",
      `${options.model} without`,
      "leave the monitor out, or give tau",
    );
  const begun = await findRun(options.out, options.resume);
  if (begun) return Number(begun.plan.retrievalHead);
  yield {
    type: "stage",
    name: `probing the ${config.heads} heads of layer ${config.retrievalLayer}`,
  };
  const heads = await rankHeads(
    options.model,
    await selectionQuestions(options, corpus, questions),
  );
  if (heads.every(({ correlation }) => correlation === 0))
    throw problem(
      "questions some of whose passages contain an answer",
      "none",
      "leave the monitor out",
    );
  yield { type: "heads", heads };
  return heads[0]!.head;
}

/** Some of the questions, with BM25's passages. */
async function selectionQuestions(
  { corpus: file, seed, signal }: ResolvedOptions,
  corpus: CorpusSurvey,
  questions: readonly TrainingQuestion[],
): Promise<HeadSelectionQuestion[]> {
  const some = createRandom(seed, "head probe").shuffle(questions).slice(0, QUESTIONS);
  const close = await findCandidates(some, {
    search: bm25Candidates(await buildBm25(readPassages(file), { signal })),
    count: Math.min(PASSAGES, corpus.ids.length),
    corpusIds: corpus.ids,
    ...{ seed, signal },
  });
  const passages = await pickPassages(file, close.flat(), corpus.digest, signal);
  return some.map(({ question, answers }, i) => ({
    ...{ question, answers },
    passages: close[i]!.map((id) => passages.get(id)!),
  }));
}

const problem = (expected: string, got: string, remedy: string): InputError =>
  new InputError({ where: "probe of heads", expected, got, remedy });
