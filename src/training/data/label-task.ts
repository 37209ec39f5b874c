/** Training from relevance labels: the query's relevant passage is written, from passages that the query is close to. */

import { createHash } from "node:crypto";
import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import { readPassages } from "../../text/read-passages.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates } from "./candidates.ts";
import { type CorpusSurvey, pickPassages } from "./corpus.ts";
import { itemsOfIteration, withNullPassages } from "./example-source.ts";
import { type LabelledQuery, retrievalExample } from "./labelled-queries.ts";
import type { TrainingTask } from "./task.ts";

/** Reads each query with its close passages, the one drawn among them, and writes that one behind its label. */
export function labelTask(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  queries: readonly LabelledQuery[],
): TrainingTask {
  const { candidatesPerQuestion, nullPassage, signal } = options;
  const count = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  return {
    digest: createHash("sha256").update(JSON.stringify(queries)).digest("hex"),
    async *prepare(iteration, search) {
      const asked = itemsOfIteration(queries, iteration, options);
      const close = yield* cachedCandidates(options, corpus, {
        name: `close-passages-labels-${iteration}.jsonl`,
        questions: asked.map(({ id, question, relevant }) => ({
          id,
          question,
          answers: relevant.map(({ passageId, label }) => `${label} ${passageId}`),
        })),
        count,
        search: async () =>
          search ?? bm25Candidates(await buildBm25(readPassages(options.corpus), options)),
      });
      const relevant = asked.flatMap((query) => query.relevant.map(({ passageId }) => passageId));
      const needed = [...close.flat(), ...relevant];
      const passages = await pickPassages(options.corpus, needed, corpus.digest, signal);
      const seed = `${options.seed} ${iteration}`;
      return {
        size: asked.length,
        example(index, step) {
          const drawn = retrievalExample(asked[index]!, (id) => passages.get(id)!, { seed, step });
          const ids = close[index]!;
          const read = ids.includes(drawn.passageId) ? ids : [...ids.slice(0, -1), drawn.passageId];
          const { question, answer } = drawn;
          const found = read.map((id) => passages.get(id)!);
          const relevant = read.indexOf(drawn.passageId);
          return {
            question,
            answer,
            relevant,
            passages: withNullPassages(found, candidatesPerQuestion),
          };
        },
      };
    },
  };
}
