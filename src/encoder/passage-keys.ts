/** Makes the token keys of passages, as an index stores them. */

import type { ModelConfig } from "../model/config.ts";
import type { PassageInput } from "../text/passage.ts";
import { passageIds } from "../text/prompts.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { type EncodeOptions, encodeOutputs, type RetrieverSession } from "./retriever-session.ts";

export interface PassageKeyModel {
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly encoder: RetrieverSession;
}

export interface PassageKeyOptions extends EncodeOptions {
  /** Longer passages are truncated. */
  readonly maxPassageTokens: number;
  /** Selects the keys of a passage that are returned. Default: all. */
  readonly prune?: ((keys: Float32Array) => Float32Array) | undefined;
  /** The keys of an interrupted call, by passage: only the other passages are encoded. */
  readonly known?: ReadonlyMap<number, Float32Array> | undefined;
  /** Receives the keys of each run of the encoder, and the positions of their passages. */
  readonly onKeys?:
    | ((positions: readonly number[], keys: readonly Float32Array[]) => void)
    | undefined;
}

/** The keys of each passage: [tokens, vectorSize], or with pooling [1, vectorSize]. */
export async function encodePassageKeys(
  { config, tokenizer, encoder }: PassageKeyModel,
  passages: readonly PassageInput[],
  { maxPassageTokens, prune = (keys) => keys, known, onKeys, ...options }: PassageKeyOptions,
): Promise<Float32Array[]> {
  const ids = passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens));
  const kept = passages.map((_, i) => known?.get(i));
  await encodeOutputs(encoder, config, ids, ["keys"], {
    ...options,
    isKnown: (i) => kept[i] !== undefined,
    async onRun({ keys }, positions) {
      for (const i of positions) kept[i] = prune(keys[i]!);
      onKeys?.(
        positions,
        positions.map((i) => kept[i]!),
      );
    },
  });
  return kept as Float32Array[];
}

/** The tokens of a passage in an index. */
export interface IndexedTokens {
  readonly ids: readonly number[];
  /** The position among `ids` of each token key; undefined if all tokens have one. */
  readonly kept: readonly number[] | undefined;
}

/**
 * The tokens of a passage that have keys in an index.
 *
 * @param choose the positions of the kept tokens, from the keys of all tokens: the passage is
 * encoded to make the choice again. Undefined if all tokens have keys
 */
export async function indexedTokens(
  { config, tokenizer, encoder }: PassageKeyModel,
  passage: PassageInput,
  maxPassageTokens: number,
  choose: ((keys: Float32Array) => readonly number[]) | undefined,
): Promise<IndexedTokens> {
  const ids = passageIds(tokenizer, passage, maxPassageTokens);
  if (choose === undefined) return { ids, kept: undefined };
  const { keys } = await encodeOutputs(encoder, config, [ids], ["keys"]);
  return { ids, kept: choose(keys[0]!) };
}
