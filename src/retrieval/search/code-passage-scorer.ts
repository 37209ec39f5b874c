/**
 * Scores given passages from their codes (rescore-codes.ts): the scores are those of
 * passage-scorer.ts, bit for bit, and few keys are decoded.
 */

import type { Codebook } from "../codec/codec.ts";
import { type MatMul, openMatMul } from "../scoring/matmul.ts";
import { type Ranking, TopK } from "../scoring/top-k.ts";
import { CodeScorer } from "./code-scores.ts";
import type { PassageScorer } from "./passage-scorer.ts";
import { type Codes, exactCodeScores, rescoreCodes } from "./rescore-codes.ts";

/** Passages whose codes are in memory together: some MB. */
const BATCH_PASSAGES = 512;

/** Opens onnxruntime on the first call. */
export function openCodePassageScorer(store: Codes, codebook: Codebook): PassageScorer {
  let opened: Promise<MatMul> | undefined;
  const idle: CodeScorer[] = []; // concurrent questions need one each
  const withScorer = async <Result>(
    question: Float32Array,
    work: (scorer: CodeScorer) => Promise<Result>,
  ): Promise<Result> => {
    opened ??= openMatMul(store.dimension, 1); // the products are a small part of the work
    const products = await (await opened).multiply(question, codebook.centroids);
    const scorer = idle.pop() ?? new CodeScorer(codebook);
    scorer.setQuestion(question, products);
    const result = await work(scorer);
    idle.push(scorer);
    return result;
  };
  const bestOf = (
    question: Float32Array,
    ordinals: Uint32Array,
    topK: number,
    signal: AbortSignal | undefined,
  ): Promise<Ranking> =>
    withScorer(question, async (scorer) => {
      const best = new TopK(topK);
      for (const batch of batchesOf(ordinals)) {
        signal?.throwIfAborted();
        const found = await rescoreCodes(store, scorer, question, batch, topK);
        for (const [i, ordinal] of found.ordinals.entries()) best.push(ordinal, found.scores[i]!);
      }
      return best.take(topK);
    });
  return {
    async best(questions, ordinals, topK, signal) {
      const found: Ranking[] = [];
      for (const question of questions) found.push(await bestOf(question, ordinals, topK, signal));
      return found;
    },
    score: (question, ordinals) =>
      withScorer(question, async (scorer) => {
        const scores: number[] = [];
        for (const batch of batchesOf(ordinals))
          scores.push(...(await exactCodeScores(store, scorer, question, batch)));
        return Float64Array.from(scores);
      }),
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}

function* batchesOf(ordinals: Uint32Array): Generator<Uint32Array> {
  for (let first = 0; first < ordinals.length; first += BATCH_PASSAGES)
    yield ordinals.subarray(first, first + BATCH_PASSAGES);
}
