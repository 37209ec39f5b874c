/** Makes the token keys of passages, as an index stores them. */

import type { ModelConfig } from "../model/config.ts";
import type { Passage } from "../text/passage.ts";
import { passageIds } from "../text/prompts.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import {
  type EncodeOptions,
  encodeOutputs,
  encodeSequences,
  type RetrieverSession,
} from "./retriever-session.ts";

/** Selects some of a passage's keys by the query vectors and keys of all its tokens. */
export type PruneTokens = (
  queries: Float32Array,
  keys: Float32Array,
  keepRatio: number,
) => Promise<Float32Array>;

export interface PassageKeyModel {
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly encoder: RetrieverSession;
  readonly prune: PruneTokens;
}

export interface PassageKeyOptions extends EncodeOptions {
  /** Longer passages are truncated. */
  readonly maxPassageTokens: number;
  /** The share of each passage's tokens that get a key, above 0 and at most 1. */
  readonly keepRatio: number;
}

/** The keys of each passage: [tokens, headSize]. */
export async function encodePassageKeys(
  { config, tokenizer, encoder, prune }: PassageKeyModel,
  passages: readonly Passage[],
  { maxPassageTokens, keepRatio, ...options }: PassageKeyOptions,
): Promise<Float32Array[]> {
  const ids = passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens));
  if (keepRatio === 1) return encodeSequences(encoder, config, ids, "keys", options);
  const { queries, keys } = await encodeOutputs(encoder, config, ids, ["queries", "keys"], options);
  const kept: Float32Array[] = [];
  for (const [i, all] of keys.entries()) kept.push(await prune(queries[i]!, all, keepRatio));
  return kept;
}
