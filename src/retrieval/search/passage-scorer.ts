/** The scores of passages that are named: what a search would give them, whatever their rank. */

import type { KeyStore } from "../index/format/store.ts";
import { rescore } from "./engine.ts";
import { openProducts, type Products } from "../scoring/matmul.ts";

export interface NamedScores extends AsyncDisposable {
  /** The avg-max of each of `ordinals`, which are all different, for `question`, [tokens, dimension], in the coordinates of the store. */
  score(question: Float32Array, ordinals: readonly number[]): Promise<number[]>;
}

/** Holds nothing before it is asked for the first time. */
export function openNamedScores(store: KeyStore, threads: number | undefined): NamedScores {
  let opened: Promise<Products> | undefined;
  return {
    async score(question, ordinals) {
      opened ??= openProducts(store.dimension, threads);
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
