/**
 * Ranks the heads of a retrieval layer by the correlation of their scores with the answers: a
 * passage is relevant if it contains an answer. For models that are not trained to retrieve.
 *
 * Source: ReAtt (Jiang et al. 2022), section 2.3.
 */

import { join } from "node:path";
import { z } from "zod";
import { padBatch } from "../../encoder/batching.ts";
import {
  type EncoderInput,
  headVectors,
  type LowerParameters,
  lowerStates,
  querySide,
} from "../../encoder/lower-layers.ts";
import { containsAnswer } from "../../evaluation/answers.ts";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { mean } from "../../math/mean.ts";
import { type ModelConfig, readConfig } from "../../model/config.ts";
import { inferenceContext } from "../../model/layers/context.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { buildParameters } from "../../model/parameter-names.ts";
import { checkPassageList, checkPath, checkQuestion, checkTexts } from "../../options/arguments.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { compile, type Session } from "../../tensor/session.ts";
import { type Graph, trace, type Value } from "../../tensor/trace.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import { loadTokenizer, type Tokenizer } from "../../text/tokenizer.ts";
import { headScores } from "../loss/retrieval-score.ts";

/** How well a head of the retrieval layer agrees with the answers. */
export interface HeadAgreement {
  readonly head: number;
  /** Pearson's correlation of the head's scores with relevance, averaged over questions. */
  readonly correlation: number;
}

/** A question with passages, some of which contain an answer. */
export interface HeadSelectionQuestion {
  readonly question: string;
  readonly answers: readonly string[];
  readonly passages: readonly Passage[];
}

const MAX_PASSAGE_TOKENS = 512;

/**
 * Ranks all heads of the retrieval layer, the best first, by the mean over questions of
 *
 *     corr_p(r_h(q, p), [p contains an answer])
 *
 * with r_h the score of head h (Eq. 1) and Pearson's correlation over the passages p of a question.
 * Questions whose passages all contain an answer, or all do not, are left out.
 *
 * Source: ReAtt (Jiang et al. 2022), section 2.3.
 *
 * @param folder a model folder with weights
 * @throws {InputError} if the folder has no usable model, or a question has no text, no answer, or
 *   passages of another form.
 *
 * @example
 * ```ts
 * import { rankHeads } from "reatt/training";
 *
 * const heads = await rankHeads("models/reatt-mini", [
 *   {
 *     question: "Where is the Eiffel Tower?",
 *     answers: ["Paris"],
 *     passages: [
 *       { id: "1", title: "Eiffel Tower", text: "The Eiffel Tower stands in Paris." },
 *       { id: "2", title: "Big Ben", text: "Big Ben is the bell of a clock in London." },
 *     ],
 *   },
 * ]);
 * console.log(heads[0]!.head);
 * ```
 */
export async function rankHeads(
  folder: string,
  questions: readonly HeadSelectionQuestion[],
): Promise<HeadAgreement[]> {
  checkPath(folder, "folder");
  checkQuestions(questions);
  const config = await readConfig(folder);
  const tokenizer = await loadTokenizer(join(folder, "spiece.model"), config.vocabularySize);
  await using session = await compile(traceHeads(config), {
    weights: await loadWeights(folder, config),
  });
  const correlations: number[][] = []; // [questions][heads]
  for (const question of questions) {
    const { answers, passages } = question;
    const labels = passages.map(({ text }) => Number(containsAnswer(text, answers)));
    if (new Set(labels).size < 2) continue;
    const scores = await scoresOfHeads(session, config, tokenizer, question);
    correlations.push(scores.map((ofHead) => correlation(ofHead, labels)));
  }
  return Array.from({ length: config.heads }, (_, head) => ({
    head,
    correlation: mean(correlations.map((ofQuestion) => ofQuestion[head]!)),
  })).sort((a, b) => b.correlation - a.correlation);
}

/** The properties of a `HeadSelectionQuestion`; `checkQuestions` checks their values. */
const QUESTION = { question: z.unknown(), answers: z.unknown(), passages: z.unknown() };

/** @throws {InputError} unless `given` is a list of questions with answers and passages */
function checkQuestions(given: unknown): void {
  if (!Array.isArray(given))
    throw new InputError({
      where: "questions",
      expected: "a list of { question, answers, passages }",
      got: given === undefined ? "nothing" : excerpt(given),
      remedy: "give an array",
    });
  for (const [i, value] of given.entries()) {
    const where = `questions[${i}]`;
    const { question, answers, passages } = resolveOptions(QUESTION, value ?? null, where);
    checkQuestion(question, where);
    checkTexts(answers, `${where}.answers`);
    checkPassageList(passages, `${where}.passages`);
  }
}

/** The score of each passage by each head. [heads][passages] */
async function scoresOfHeads(
  session: Session,
  config: ModelConfig,
  tokenizer: Tokenizer,
  { question, passages }: HeadSelectionQuestion,
): Promise<Float32Array[]> {
  const ids = passages.map((passage) => passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS));
  const query = padBatch([retrievalQuestionIds(tokenizer, question)], "left", config.padId);
  const batch = padBatch(ids, "right", config.padId);
  const { scores } = await session.run({
    questionIds: query.ids,
    questionMask: query.mask,
    questionBuckets: positionBuckets(config, "encoder", query.ids.shape[1]!),
    passageIds: batch.ids,
    passageMask: batch.mask,
    passageBuckets: positionBuckets(config, "encoder", batch.ids.shape[1]!),
  });
  const data = scores!.data as Float32Array;
  return Array.from({ length: config.heads }, (_, head) =>
    data.subarray(head * passages.length, (head + 1) * passages.length),
  );
}

/**
 * Computes `scores` [heads, 1, passages]. Letters: n question tokens, U passages, m their tokens.
 */
function traceHeads(config: ModelConfig): Graph {
  return trace(
    {
      questionIds: ["int32", 1, "n"],
      questionMask: ["float32", 1, "n"],
      questionBuckets: ["int32", "n", "n"],
      passageIds: ["int32", "U", "m"],
      passageMask: ["float32", "U", "m"],
      passageBuckets: ["int32", "m", "m"],
    },
    (
      ops,
      { questionIds, questionMask, questionBuckets, passageIds: ids, passageMask, passageBuckets },
    ) => {
      const context = inferenceContext(ops, config);
      const parameters = buildParameters(config, (name, shape) => ops.parameter(name, shape));
      const vectors = (
        lower: LowerParameters<Value>,
        input: EncoderInput<Value>,
        projection: "query" | "key",
      ): Value => {
        const states = lowerStates(context, lower, input).retrieval;
        return headVectors(context, lower, { ...input, states }, projection);
      };
      const question = { ids: questionIds, mask: questionMask, buckets: questionBuckets };
      const passages = { ids, mask: passageMask, buckets: passageBuckets };
      const queries = vectors(querySide(parameters), question, "query");
      const keys = vectors(parameters, passages, "key");
      return { scores: headScores(ops, { queries, questionMask, keys, passageMask }) };
    },
  );
}

/** Pearson's correlation; 0 if one side does not vary. */
export function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const [meanA, meanB] = [mean(Array.from(a)), mean(Array.from(b))];
  let [products, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    products += (a[i]! - meanA) * (b[i]! - meanB);
    squaresA += (a[i]! - meanA) ** 2;
    squaresB += (b[i]! - meanB) ** 2;
  }
  return squaresA * squaresB === 0 ? 0 : products / Math.sqrt(squaresA * squaresB);
}
