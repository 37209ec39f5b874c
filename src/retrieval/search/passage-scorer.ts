/** Scores given passages, whether or not a search would return them. */

import type { KeyStore } from "../index/format/store.ts";
import { type MatMul, openMatMul } from "../scoring/matmul.ts";
import { rescore } from "./rescore.ts";

export interface PassageScorer extends AsyncDisposable {
  /**
   * The retrieval score of each passage of `ordinals`, which are all different. `question` is
   * [tokens, dimension], rotated if the keys of the store are.
   */
  score(question: Float32Array, ordinals: readonly number[]): Promise<number[]>;
}

/** Opens onnxruntime on the first call of `score`. */
export function openPassageScorer(store: KeyStore, threads: number | undefined): PassageScorer {
  let opened: Promise<MatMul> | undefined;
  return {
    async score(question, ordinals) {
      opened ??= openMatMul(store.dimension, threads);
      const matmul = await opened;
      const wanted = Uint32Array.from(ordinals);
      const scored = await rescore(store, matmul, question, wanted, wanted.length);
      const scores = new Map(scored.map(({ ordinal, score }) => [ordinal, score]));
      return ordinals.map((ordinal) => scores.get(ordinal)!);
    },
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}
