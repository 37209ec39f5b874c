/** Training data from questions and answers. Source: ReAtt (Jiang et al. 2022), section 3. */

import { NULL_PASSAGE } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { withAnswerPositives } from "./answer-positives.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import {
  bm25Candidates,
  type CandidateRetriever,
  checkCandidateCount,
  givenCandidates,
} from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import { itemsOfIteration } from "./example-source.ts";
import type { TrainingData } from "./training-data.ts";
import { digestQuestions, drawAnswer, type TrainingQuestion } from "./training-questions.ts";

/**
 * An example is a question with its candidates, one of which may be the null passage. The target is
 * one of its answers. For the objective `retrieval`, questions with scores keep the candidates of
 * the file, because a retriever finds passages without a score, and questions without scores or a
 * label get a positive (answer-positives.ts).
 *
 * @throws {InputError} if the corpus has too few passages.
 */
export function questionData(
  options: ResolvedOptions,
  corpus: Corpus,
  questions: readonly TrainingQuestion[],
): TrainingData {
  const { candidatesPerQuestion, nullPassage, objective } = options;
  const isRetrieval = objective === "retrieval";
  const count = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  checkCandidateCount(count, corpus.size); // now, not after the model has been measured
  return {
    digest: digestQuestions(questions, { scores: isRetrieval }),
    async *examples(iteration, retriever) {
      const drawn = itemsOfIteration(questions, iteration, options);
      const used = isRetrieval ? yield* withAnswerPositives(drawn, corpus, options.signal) : drawn;
      const candidates = yield* cachedCandidates(options, corpus, {
        name: `close-passages-${iteration}.jsonl`,
        questions: used,
        count,
        openRetriever: async () => {
          const found = retriever ?? (await firstRetriever(corpus, questions, count));
          return isRetrieval ? withScored(found) : found;
        },
      });
      const passages = await corpus.pick(candidates.flat());
      const seed = `${options.seed} ${iteration}`;
      return {
        size: used.length,
        example(index, step) {
          const { question, answers, passageId, contexts = [], scores } = used[index]!;
          const found = candidates[index]!.map((id) => passages.get(id)!);
          return {
            ...{ question, answers },
            answer: drawAnswer(used[index]!, { seed, step }),
            passages: nullPassage ? [...found, NULL_PASSAGE] : found,
            scores: isRetrieval ? found.map(({ id }) => scores?.[contexts.indexOf(id)]) : undefined,
            relevant: passageId === undefined ? [] : [passageId],
          };
        },
      };
    },
  };
}

/** Takes the candidates with a score from the file, where a question has any. */
const withScored =
  (retriever: CandidateRetriever): CandidateRetriever =>
  async (questions, topK) => {
    const others = questions.filter(({ scores }) => !scores);
    const found = others.length > 0 ? await retriever(others, topK) : [];
    return questions.map((question) => {
      const { contexts = [], scores } = question;
      if (!scores) return found[others.indexOf(question)]!;
      return contexts.filter((_, i) => scores[i] !== undefined).slice(0, topK);
    });
  };

/** Of the first iteration: the candidates of the training file if it has enough, else BM25's. */
async function firstRetriever(
  corpus: Corpus,
  questions: readonly TrainingQuestion[],
  count: number,
): Promise<CandidateRetriever> {
  const areGiven = questions.every(({ contexts = [] }) => contexts.length >= count);
  return areGiven ? givenCandidates : bm25Candidates(await corpus.bm25());
}
