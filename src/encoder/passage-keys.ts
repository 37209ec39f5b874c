/** Makes the token keys of passages, as an index stores them. */

import type { ModelConfig } from "../model/config.ts";
import type { PassageInput } from "../text/passage.ts";
import { passageIds } from "../text/prompts.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { type EncodeOptions, encodeOutputs, type RetrieverSession } from "./retriever-session.ts";

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
  /** The keys of an interrupted call, by passage: only the other passages are encoded. */
  readonly known?: ReadonlyMap<number, Float32Array> | undefined;
  /** Receives the keys of each run of the encoder, and the positions of their passages. */
  readonly onKeys?:
    | ((positions: readonly number[], keys: readonly Float32Array[]) => void)
    | undefined;
}

/** The keys of each passage: [tokens, headSize], or with pooling [1, vectorSize]. */
export async function encodePassageKeys(
  { config, tokenizer, encoder, prune }: PassageKeyModel,
  passages: readonly PassageInput[],
  { maxPassageTokens, keepRatio, known, onKeys, ...options }: PassageKeyOptions,
): Promise<Float32Array[]> {
  const ids = passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens));
  const kept = passages.map((_, i) => known?.get(i));
  const outputs: ("queries" | "keys")[] = keepRatio === 1 ? ["keys"] : ["queries", "keys"];
  await encodeOutputs(encoder, config, ids, outputs, {
    ...options,
    isKnown: (i) => kept[i] !== undefined,
    async onRun({ queries, keys }, positions) {
      for (const i of positions)
        kept[i] = keepRatio === 1 ? keys[i]! : await prune(queries[i]!, keys[i]!, keepRatio);
      onKeys?.(
        positions,
        positions.map((i) => kept[i]!),
      );
    },
  });
  return kept as Float32Array[];
}

/** Makes the choice of `PruneTokens`: the positions of the tokens to keep, ascending. */
export type ChooseTokens = (
  queries: Float32Array,
  keys: Float32Array,
  keepRatio: number,
) => Promise<number[]>;

/** The tokens of a passage in an index. */
export interface IndexedTokens {
  readonly ids: readonly number[];
  /** The position among `ids` of each token key; undefined if all tokens have one. */
  readonly kept: readonly number[] | undefined;
}

/**
 * The tokens that a passage has in an index with this header. In a pruned index, the passage is
 * encoded to make the choice of its tokens again.
 */
export async function indexedTokens(
  {
    config,
    tokenizer,
    encoder,
    keptRows,
  }: Omit<PassageKeyModel, "prune"> & { readonly keptRows: ChooseTokens },
  passage: PassageInput,
  header: { readonly maxPassageTokens: number; readonly keepTokens?: number | undefined },
): Promise<IndexedTokens> {
  const ids = passageIds(tokenizer, passage, header.maxPassageTokens);
  if (header.keepTokens === undefined) return { ids, kept: undefined };
  const { queries, keys } = await encodeOutputs(encoder, config, [ids], ["queries", "keys"]);
  return { ids, kept: await keptRows(queries[0]!, keys[0]!, header.keepTokens) };
}
