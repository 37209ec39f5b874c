/**
 * Training data from relevance labels: the target is a relevant passage after its label.
 *
 * Source: ReAtt (Jiang et al. 2022), section 3.3.
 */

import { createHash } from "node:crypto";
import { NULL_PASSAGE } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates } from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import { itemsOfIteration } from "./example-source.ts";
import { type LabelledQuery, labelledExample } from "./labelled-queries.ts";
import type { TrainingData } from "./training-data.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/**
 * An example is a query with its candidates, among them the relevant passage drawn for this step.
 * The decoder's target is the label and the text of that passage. All relevant candidates are
 * positives of retrieval.
 */
export function labelledQueryData(
  options: ResolvedOptions,
  corpus: Corpus,
  queries: readonly LabelledQuery[],
): TrainingData {
  const { candidatesPerQuestion, nullPassage } = options;
  const count = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  return {
    digest: createHash("sha256").update(JSON.stringify(queries)).digest("hex"),
    async *examples(iteration, retriever) {
      const used = itemsOfIteration(queries, iteration, options);
      const candidates = yield* cachedCandidates(options, corpus, {
        name: `close-passages-labels-${iteration}.jsonl`,
        questions: used.map(asQuestion),
        count,
        openRetriever: async () => retriever ?? bm25Candidates(await corpus.bm25()),
      });
      const relevant = used.flatMap((query) => query.relevant.map(({ passageId }) => passageId));
      const passages = await corpus.pick([...candidates.flat(), ...relevant]);
      const seed = `${options.seed} ${iteration}`;
      return {
        size: used.length,
        example(index, step) {
          const { question, answer, passageId } = labelledExample(
            used[index]!,
            (id) => passages.get(id)!,
            { seed, step },
          );
          const retrieved = candidates[index]!;
          const ids = retrieved.includes(passageId)
            ? retrieved
            : [...retrieved.slice(0, -1), passageId];
          const found = ids.map((id) => passages.get(id)!);
          return {
            ...{ question, answer },
            passages: nullPassage ? [...found, NULL_PASSAGE] : found,
            relevant: used[index]!.relevant.map((labelled) => labelled.passageId),
            answers: [], // a query has labels only
          };
        },
      };
    },
  };
}

/** The answers only identify the labels, for the digest of the file of candidates. */
const asQuestion = ({ id, question, relevant }: LabelledQuery): TrainingQuestion => ({
  id,
  question,
  answers: relevant.map(({ passageId, label }) => `${label} ${passageId}`),
});
