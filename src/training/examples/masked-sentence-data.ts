/**
 * Training data from documents alone: salient span masking with retrieval.
 *
 * Source: REALM (Guu et al. 2020), section 3.4; ReAtt (Jiang et al. 2022), section 3.3.
 */

import { createHash } from "node:crypto";
import { containsAnswer } from "../../evaluation/answers.ts";
import { createRandom } from "../../math/random.ts";
import { NULL_PASSAGE, type Passage } from "../../text/passage.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import {
  MASK,
  type MaskedSentence,
  removeMaskedSentence,
  type SourcePassage,
} from "../salient-spans/index.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates, type CandidateRetriever } from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import type { TrainingData } from "./training-data.ts";
import type { TrainingQuestion } from "./training-questions.ts";

export interface MaskedDataOptions {
  /** How the passage of the sentence takes part. */
  readonly sourcePassage: SourcePassage;
  /** Whether one candidate is empty, for sentences that need no passage (REALM, section 3.4). */
  readonly nullPassage: boolean;
}

/** Candidates beyond those to read, because the removal of a sentence can leave a passage empty. */
const SPARE_CANDIDATES = 4;

/** Masked sentences to draw for each example: the candidates answer about half of them. */
export const SENTENCES_PER_EXAMPLE = 2;

/**
 * An example is a masked sentence with its candidates, from which the sentence and its near copies
 * are removed. The target is the masked entity.
 *
 * If no candidate contains the entity, the sentence cannot train reading, unless a null passage
 * serves it. It trains retrieval only: the target is the source passage. Without this passage among
 * the candidates, or if the objective does not learn from a known passage, it is left out.
 *
 * With the objective `retrieval`, the positive is the source passage. If it is not among the
 * candidates, the positives are the candidates that contain the entity.
 */
export function maskedSentenceData(
  options: ResolvedOptions,
  corpus: Corpus,
  sentences: readonly MaskedSentence[],
  masking: MaskedDataOptions,
): TrainingData {
  const { candidatesPerQuestion, objective, seed, steps, questions: perStep } = options;
  const learnsFromSource = objective === "supervised" || objective === "distillation";
  const isRead = objective !== "retrieval";
  const count = Math.max(
    candidatesPerQuestion,
    Math.min(candidatesPerQuestion + SPARE_CANDIDATES, corpus.size),
  );
  return {
    digest: digestSentences(sentences, masking),
    async *examples(iteration, retriever) {
      const order = createRandom(seed, "sentences", iteration).shuffle(sentences);
      const drawn = order.slice(0, SENTENCES_PER_EXAMPLE * steps * perStep);
      const candidates = yield* cachedCandidates(options, corpus, {
        name: `close-passages-spans-${iteration}.jsonl`,
        questions: drawn.map((masked) => asQuestion(masked, masking.sourcePassage)),
        count,
        openRetriever: async () => retriever ?? withoutMask(bm25Candidates(await corpus.bm25())),
      });
      const passages = await corpus.pick(candidates.flat());
      const passagesOf = (index: number): Passage[] => {
        const found = candidates[index]!.map((id) => passages.get(id)!);
        return readablePassages(drawn[index]!, found, candidatesPerQuestion, masking);
      };
      const all = [...drawn.keys()];
      const uses = all.map((index): "reading" | "retrieval" | undefined => {
        const { entity, passageId } = drawn[index]!;
        const read = passagesOf(index);
        const isAnswered = anyContains(read, entity);
        const hasSource = read.some(({ id }) => id === passageId);
        if (!isRead) return isAnswered || hasSource ? "retrieval" : undefined;
        if (masking.nullPassage || isAnswered) return "reading";
        return learnsFromSource && hasSource ? "retrieval" : undefined;
      });
      const useful = all.filter((index) => uses[index] !== undefined);
      const used = (useful.length > 0 ? useful : all).slice(0, steps * perStep);
      const retrievalOnly = used.filter((index) => uses[index] === "retrieval").length;
      if (isRead && retrievalOnly > 0)
        yield { type: "stage", name: countLine(used.length, retrievalOnly) };
      return {
        size: used.length,
        example(place) {
          const index = used[place]!;
          const { question, entity, passageId } = drawn[index]!;
          const passages = passagesOf(index);
          const isKnown = isRead || passages.some(({ id }) => id === passageId);
          return {
            question,
            answer: entity,
            passages,
            relevant: isKnown ? [passageId] : [],
            answers: [entity],
            retrievalOnly: uses[index] === "retrieval",
          };
        },
      };
    },
  };
}

const countLine = (sentences: number, retrievalOnly: number): string =>
  `${retrievalOnly} of ${sentences} masked sentences train retrieval only, ` +
  "because no candidate contains the answer";

/**
 * At most `count` passages without the masked sentence, best first. The source passage is one of
 * them unless it is excluded or nothing is left of it. If nothing is left of any passage, the null
 * passage.
 */
function readablePassages(
  masked: MaskedSentence,
  found: readonly Passage[],
  count: number,
  { sourcePassage, nullPassage }: MaskedDataOptions,
): Passage[] {
  const room = nullPassage ? count - 1 : count;
  const left = found.flatMap(
    (passage) => removeMaskedSentence(masked, passage, sourcePassage) ?? [],
  );
  const source = left.find(({ id }) => id === masked.passageId);
  const best = left.slice(0, room);
  if (source && room > 0 && !best.includes(source)) best[room - 1] = source;
  return nullPassage || best.length === 0 ? [...best, NULL_PASSAGE] : best;
}

const anyContains = (passages: readonly Passage[], entity: string): boolean =>
  passages.some(
    ({ title, text }) => containsAnswer(title, [entity]) || containsAnswer(text, [entity]),
  );

function asQuestion(
  { question, entity, passageId, sentence }: MaskedSentence,
  sourcePassage: SourcePassage,
): TrainingQuestion {
  const id = `${passageId}:${sentence.start}-${sentence.end}`;
  const source = sourcePassage === "excluded" ? {} : { passageId };
  return { id, question, answers: [entity], ...source };
}

/** Without this, BM25 matches the characters of the mask as words. */
export const withoutMask =
  (retriever: CandidateRetriever): CandidateRetriever =>
  (questions, topK) => {
    const unmasked = questions.map((question) => ({
      ...question,
      question: question.question.replace(MASK, " "),
    }));
    return retriever(unmasked, topK);
  };

function digestSentences(
  sentences: readonly MaskedSentence[],
  { sourcePassage, nullPassage }: MaskedDataOptions,
): string {
  const hash = createHash("sha256").update(JSON.stringify([sourcePassage, nullPassage]));
  for (const { passageId, question, entity } of sentences)
    hash.update(JSON.stringify([passageId, question, entity]));
  return hash.digest("hex");
}
