/** Scores given passages, whether or not a search would return them. */

import type { KeyStore } from "../index/format/store.ts";
import { type MatMul, openMatMul } from "../scoring/matmul.ts";
import type { Ranking } from "../scoring/top-k.ts";
import { dotProduct } from "../scoring/vectors.ts";
import { exactScores, type Keys, rescore } from "./rescore.ts";

/** The token of a passage that matches a token of the question best. */
export interface TokenMatch {
  /** Position among the token keys of the passage, from 0. */
  readonly key: number;
  /** The product of both vectors. */
  readonly score: number;
}

export interface PassageScorer extends AsyncDisposable {
  /**
   * The retrieval score of each passage of `ordinals`. `question` is [tokens, dimension], rotated
   * if the keys of the store are.
   */
  score(question: Float32Array, ordinals: Uint32Array): Promise<Float64Array>;
  /** For each question, the `topK` best of the passages `ordinals`. Their keys are read once. */
  best(
    questions: readonly Float32Array[],
    ordinals: Uint32Array,
    topK: number,
    signal: AbortSignal | undefined,
  ): Promise<Ranking[]>;
}

/**
 * The best key of a passage for each token of `question`, with the products that rescore.ts sums:
 * their mean is the score of the passage.
 */
export async function matchTokens(
  store: Pick<KeyStore, "dimension" | "keys">,
  question: Float32Array,
  ordinal: number,
): Promise<TokenMatch[]> {
  const { dimension } = store;
  const keys = await store.keys(ordinal);
  return Array.from({ length: question.length / dimension }, (_, i) => {
    let best: TokenMatch = { key: 0, score: -Infinity };
    for (let key = 0; key * dimension < keys.length; key++) {
      const score = dotProduct(question, i * dimension, keys, key * dimension, dimension);
      if (score > best.score) best = { key, score };
    }
    return best;
  });
}

/** The products of all vectors of `question` with all keys of a passage: [vectors, keys]. */
export async function tokenProducts(
  store: Pick<KeyStore, "dimension" | "keys">,
  question: Float32Array,
  ordinal: number,
): Promise<Float64Array> {
  const { dimension } = store;
  const keys = await store.keys(ordinal);
  const count = keys.length / dimension;
  return Float64Array.from({ length: (question.length / dimension) * count }, (_, i) => {
    const vector = Math.floor(i / count) * dimension;
    return dotProduct(question, vector, keys, (i % count) * dimension, dimension);
  });
}

/** Opens onnxruntime on the first call of `score`. */
export function openPassageScorer(store: Keys, threads: number | undefined): PassageScorer {
  let opened: Promise<MatMul> | undefined;
  const open = (): Promise<MatMul> => {
    opened ??= openMatMul(store.dimension, threads);
    return opened;
  };
  return {
    async best(questions, ordinals, topK, signal) {
      const matmul = await open();
      const read = new Map<number, Promise<Float32Array>>();
      const keys = (ordinal: number): Promise<Float32Array> => {
        const known = read.get(ordinal) ?? store.keys(ordinal);
        read.set(ordinal, known);
        return known;
      };
      const once: Keys = {
        dimension: store.dimension,
        get longestKey() {
          return store.longestKey; // of a store outside of this process, of what was read
        },
        keys,
      };
      const found: Ranking[] = [];
      for (const question of questions) {
        signal?.throwIfAborted();
        found.push(await rescore(once, matmul, question, ordinals, topK));
      }
      return found;
    },
    async score(question, ordinals) {
      return exactScores(store, await open(), question, ordinals);
    },
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}
