/** The scores of passages that are named: what a search would give them, whatever their rank. */

import type { KeyStore } from "../index/format/store.ts";
import { type MatMul, openMatMul } from "../scoring/matmul.ts";
import { rescore } from "./engine.ts";

export interface PassageScorer extends AsyncDisposable {
  /** The avg-max of each of `ordinals`, which are all different, for `question`, [tokens, dimension], in the coordinates of the store. */
  score(question: Float32Array, ordinals: readonly number[]): Promise<number[]>;
}

/** Holds nothing before it is asked for the first time. */
export function openPassageScorer(store: KeyStore, threads: number | undefined): PassageScorer {
  let opened: Promise<MatMul> | undefined;
  return {
    async score(question, ordinals) {
      opened ??= openMatMul(store.dimension, threads);
      const scored = await rescore(
        store,
        await opened,
        question,
        Uint32Array.from(ordinals),
        ordinals.length,
      );
      const scores = new Map(scored.map(({ ordinal, score }) => [ordinal, score]));
      return ordinals.map((ordinal) => scores.get(ordinal)!);
    },
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}
