/**
 * Picks a retrieval head from a model that was not trained to retrieve (ReAtt, section 2.3): the head whose scores
 * correlate most with whether a passage contains an answer.
 */

import { join } from "node:path";
import {
  type EncoderInput,
  headVectors,
  type LowerParameters,
  lowerStates,
  querySide,
} from "../../encoder/lower-layers.ts";
import { padBatch } from "../../encoder/lower-session.ts";
import { containsAnswer } from "../../evaluation/answers.ts";
import { type ModelConfig, readConfig } from "../../model/config.ts";
import { inferenceContext } from "../../model/layers/context.ts";
import { positionBuckets } from "../../model/layers/relative-position.ts";
import { loadWeights } from "../../model/load-weights.ts";
import { buildParameters } from "../../model/parameter-names.ts";
import { compile } from "../../tensor/session.ts";
import { type Graph, trace, type Value } from "../../tensor/trace.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/prompts.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import { headScores } from "../loss/retrieval-score.ts";

export interface HeadAgreement {
  readonly head: number;
  /** Pearson's correlation of the head's scores with "contains an answer", averaged over questions. */
  readonly correlation: number;
}

/** A question with passages, of which some contain an answer and some do not. */
export interface HeadSelectionQuestion {
  readonly question: string;
  readonly answers: readonly string[];
  readonly passages: readonly Passage[];
}

const MAX_PASSAGE_TOKENS = 512;

/** All heads of the retrieval layer, the best first. Questions whose passages are all alike tell nothing and are left out. */
export async function rankHeads(
  folder: string,
  questions: readonly HeadSelectionQuestion[],
): Promise<HeadAgreement[]> {
  const config = await readConfig(folder);
  const tokenizer = await loadTokenizer(join(folder, "spiece.model"), config.vocabularySize);
  await using session = await compile(traceHeads(config), {
    weights: await loadWeights(folder, config),
  });
  const sums = new Float64Array(config.heads);
  let counted = 0;
  for (const { question, answers, passages } of questions) {
    const labels = passages.map(({ text }) => Number(containsAnswer(text, answers)));
    if (new Set(labels).size < 2) continue;
    const asked = padBatch([retrievalQuestionIds(tokenizer, question)], "left", config.padId);
    const read = padBatch(
      passages.map((passage) => passageIds(tokenizer, passage, MAX_PASSAGE_TOKENS)),
      "right",
      config.padId,
    );
    const { scores } = await session.run({
      questionIds: asked.ids,
      questionMask: asked.mask,
      questionBuckets: positionBuckets(config, "encoder", asked.ids.shape[1]!),
      passageIds: read.ids,
      passageMask: read.mask,
      passageBuckets: positionBuckets(config, "encoder", read.ids.shape[1]!),
    });
    for (let head = 0; head < config.heads; head++) {
      const row = scores!.data.subarray(head * passages.length, (head + 1) * passages.length);
      sums[head]! += correlation(row, labels);
    }
    counted++;
  }
  return Array.from(sums, (sum, head) => ({ head, correlation: sum / Math.max(1, counted) })).sort(
    (a, b) => b.correlation - a.correlation,
  );
}

/** -> `scores` [heads, 1, passages] */
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
      ): Value => headVectors(context, lower, lowerStates(context, lower, input), projection);
      const asked = { ids: questionIds, mask: questionMask, buckets: questionBuckets };
      const read = { ids, mask: passageMask, buckets: passageBuckets };
      const queries = vectors(querySide(parameters), asked, "query");
      const keys = vectors(parameters, read, "key");
      return { scores: headScores(ops, { queries, questionMask, keys, passageMask }) };
    },
  );
}

/** Pearson's correlation; 0 where either side does not vary. */
export function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const mean = (x: ArrayLike<number>): number =>
    Array.from(x).reduce((sum, value) => sum + value, 0) / x.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [products, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    products += (a[i]! - meanA) * (b[i]! - meanB);
    squaresA += (a[i]! - meanA) ** 2;
    squaresB += (b[i]! - meanB) ** 2;
  }
  return squaresA * squaresB === 0 ? 0 : products / Math.sqrt(squaresA * squaresB);
}
