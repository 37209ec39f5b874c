/** Training from questions and answers. */

import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import { readPassages } from "../../text/read-passages.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import {
  bm25Candidates,
  type CandidateRetriever,
  checkCandidateCount,
  givenCandidates,
} from "./candidates.ts";
import { type CorpusSurvey, pickPassages } from "./corpus.ts";
import { itemsOfIteration, withNullPassages } from "./example-source.ts";
import type { TrainingTask } from "./task.ts";
import { digestQuestions, drawAnswer, type TrainingQuestion } from "./training-questions.ts";

/**
 * Reads each question with its close passages, of which one may be the null passage, and writes one of its answers.
 *
 * @throws {InputError} where the corpus has too few passages.
 */
export function questionTask(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  questions: readonly TrainingQuestion[],
): TrainingTask {
  const { candidatesPerQuestion, nullPassage, signal } = options;
  const count = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  checkCandidateCount(count, corpus.ids.length); // now, and not when the model has been measured
  return {
    digest: digestQuestions(questions),
    async *prepare(iteration, search) {
      const asked = itemsOfIteration(questions, iteration, options);
      const close = yield* cachedCandidates(options, corpus, {
        name: `close-passages-${iteration}.jsonl`,
        questions: asked,
        count,
        search: async () => search ?? firstSearch(options, questions, count),
      });
      const passages = await pickPassages(options.corpus, close.flat(), corpus.digest, signal);
      const seed = `${options.seed} ${iteration}`;
      return {
        size: asked.length,
        example(index, step) {
          const { question, passageId } = asked[index]!;
          const found = close[index]!.map((id) => passages.get(id)!);
          return {
            question,
            answer: drawAnswer(asked[index]!, { seed, step }),
            passages: withNullPassages(found, candidatesPerQuestion),
            ...(passageId !== undefined && { relevant: close[index]!.indexOf(passageId) }),
          };
        },
      };
    },
  };
}

/** For the first iteration: as the training file has them, or else BM25. */
async function firstSearch(
  options: ResolvedOptions,
  questions: readonly TrainingQuestion[],
  count: number,
): Promise<CandidateRetriever> {
  const given = questions.every(({ contexts = [] }) => contexts.length >= count);
  return given
    ? givenCandidates
    : bm25Candidates(await buildBm25(readPassages(options.corpus), options));
}
