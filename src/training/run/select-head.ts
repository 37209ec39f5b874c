/**
 * Head selection: takes the head of the retrieval layer whose scores correlate best with the answers,
 * before training. Source: ReAtt (Jiang et al. 2022), section 2.3.
 */

import { hasWeights } from "../../checkpoints/open.ts";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import type { ModelConfig } from "../../model/config.ts";
import { bm25Candidates, findCandidates } from "../data/candidates.ts";
import type { Corpus } from "../data/corpus.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { findRun } from "./checkpoint.ts";
import type { TrainingEvent } from "./events.ts";
import { type HeadSelectionQuestion, rankHeads } from "./rank-heads.ts";

const QUESTIONS = 100;
/** BM25's first passages for each question. The paper has 100. */
const PASSAGES = 20;

/**
 * The head of the retrieval layer that retrieves best. A resumed run keeps its head.
 *
 * @throws {InputError} with `tau`, for a model without weights, and if no question has both passages
 *   that contain an answer and passages that do not.
 */
export async function* selectHead(
  options: ResolvedOptions,
  config: ModelConfig,
  corpus: Corpus,
  questions: readonly TrainingQuestion[],
): AsyncGenerator<TrainingEvent, number> {
  const remedy = "leave head selection out";
  if (options.tau !== undefined)
    throw problem("one fixed head", `tau ${options.tau}, which mixes all`, "leave tau out");
  if (!(await hasWeights(options.model)))
    throw problem("a model with weights", `${options.model} without`, `${remedy}, or give tau`);
  const begun = await findRun(options.out, options.resume);
  if (begun) return Number(begun.plan.retrievalHead);
  const name = `ranking the ${config.heads} heads of layer ${config.retrievalLayer}`;
  yield { type: "stage", name };
  const sample = await selectionQuestions(options, corpus, questions);
  const heads = await rankHeads(options.model, sample);
  if (heads.every(({ correlation }) => correlation === 0))
    throw problem("questions some of whose passages contain an answer", "none", remedy);
  yield { type: "heads", heads };
  return heads[0]!.head;
}

/** A random sample of the questions, each with BM25's first passages. */
async function selectionQuestions(
  { seed, signal }: ResolvedOptions,
  corpus: Corpus,
  questions: readonly TrainingQuestion[],
): Promise<HeadSelectionQuestion[]> {
  const sample = createRandom(seed, "head probe").shuffle(questions).slice(0, QUESTIONS);
  const candidates = await findCandidates(sample, {
    retriever: bm25Candidates(await corpus.bm25()),
    count: Math.min(PASSAGES, corpus.size),
    corpusIds: corpus.ids,
    ...{ seed, signal },
  });
  const passages = await corpus.pick(candidates.flat());
  return sample.map(({ question, answers }, i) => ({
    ...{ question, answers },
    passages: candidates[i]!.map((id) => passages.get(id)!),
  }));
}

const problem = (expected: string, got: string, remedy: string): InputError =>
  new InputError({ where: "head selection", expected, got, remedy });
