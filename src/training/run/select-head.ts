/**
 * Head selection: takes the head of the retrieval layer whose scores correlate best with the
 * answers, before training. Source: ReAtt (Jiang et al. 2022), section 2.3.
 */

import { hasWeights } from "../../checkpoints/open.ts";
import { InputError } from "../../io/errors.ts";
import { createRandom } from "../../math/random.ts";
import { hasRetrievalHead, type ModelConfig } from "../../model/config.ts";
import { bm25Candidates, findCandidates } from "../examples/candidates.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type Example, readAs } from "../examples/example.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { findRun } from "./checkpoint.ts";
import type { TrainingEvent } from "./events.ts";
import { type HeadAgreement, type HeadSelectionQuestion, rankHeads } from "./rank-heads.ts";

/** Questions, or masked sentences, that heads are ranked with. */
export const HEAD_SELECTION_QUESTIONS = 100;
/** BM25's first passages for each question. The paper has 100. */
const PASSAGES = 20;

/**
 * Whether a head has to be selected although no option asks for it: `config.json` does not name
 * one. Nothing is selected if all heads are mixed or pooled, if the index has to remain valid, or
 * if random weights have no better head.
 */
export const needsHead = async ({
  model,
  tau,
  pooling,
  querySide,
  readerOnly,
}: ResolvedOptions): Promise<boolean> =>
  tau === undefined &&
  pooling === undefined &&
  querySide === undefined &&
  !readerOnly &&
  (await hasWeights(model)) &&
  !(await hasRetrievalHead(model));

/**
 * The head of the retrieval layer that retrieves best. A resumed run keeps its head.
 *
 * @throws {InputError} with `tau`, for a model without weights, and if no question has both
 *   passages that contain an answer and passages that do not.
 */
export async function* selectHead(
  options: ResolvedOptions,
  config: ModelConfig,
  corpus: Corpus,
  examples: readonly Example[],
): AsyncGenerator<TrainingEvent, number> {
  const remedy = "leave head selection out";
  if (options.tau !== undefined)
    throw problem("one fixed head", `tau ${options.tau}, which mixes all`, "leave tau out");
  if (!(await hasWeights(options.model)))
    throw problem("a model with weights", `${options.model} without`, `${remedy}, or give tau`);
  const head = yield* bestHead(options, config, corpus, examples);
  if (head !== undefined) return head;
  throw problem("questions some of whose passages contain an answer", "none", remedy);
}

/** The same for `needsHead`: the configured head if no head can be selected. */
export async function* selectMissingHead(
  options: ResolvedOptions,
  config: ModelConfig,
  corpus: Corpus,
  examples: readonly Example[],
): AsyncGenerator<TrainingEvent, number> {
  const head = yield* bestHead(options, config, corpus, examples);
  if (head !== undefined) return head;
  const kept = config.retrievalHead;
  yield { type: "stage", name: `no passages to rank heads with: head ${kept} is trained` };
  return kept;
}

/** Undefined if no question tells heads apart. */
async function* bestHead(
  options: ResolvedOptions,
  config: ModelConfig,
  corpus: Corpus,
  examples: readonly Example[],
): AsyncGenerator<TrainingEvent, number | undefined> {
  const begun = await findRun(options.out, options.resume);
  if (begun) return Number(begun.plan.retrievalHead);
  const name = `ranking the ${config.heads} heads of layer ${config.retrievalLayer}`;
  yield { type: "stage", name };
  const sample = await selectionQuestions(options, corpus, examples);
  const heads: HeadAgreement[] = await rankHeads(options.model, sample);
  if (heads.every(({ correlation }) => correlation === 0)) return undefined;
  yield { type: "heads", heads };
  return heads[0]!.head;
}

/** A random sample of the examples, each with BM25's first passages as it reads them. */
async function selectionQuestions(
  { seed, signal }: ResolvedOptions,
  corpus: Corpus,
  examples: readonly Example[],
): Promise<HeadSelectionQuestion[]> {
  const shuffled = createRandom(seed, "head probe").shuffle(examples);
  const sample = shuffled.slice(0, HEAD_SELECTION_QUESTIONS);
  const candidates = await findCandidates(sample, {
    retriever: bm25Candidates(await corpus.bm25()),
    count: Math.min(PASSAGES, corpus.size),
    corpusIds: corpus.ids,
    ...{ seed, signal },
  });
  const passages = await corpus.pick(candidates.flat());
  return sample.map(({ question, answers, removal = {} }, i) => ({
    ...{ question, answers },
    passages: candidates[i]!.flatMap((id) => readAs(removal, passages.get(id)!) ?? []),
  }));
}

const problem = (expected: string, got: string, remedy: string): InputError =>
  new InputError({ where: "head selection", expected, got, remedy });
