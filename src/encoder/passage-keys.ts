/** Makes the token keys of passages, as an index stores them, and their states for reading. */

import type { ModelConfig } from "../model/config.ts";
import type { PassageInput } from "../text/passage.ts";
import { passageIds } from "../text/tokens/prompts.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import {
  type EncodeOptions,
  encodeRuns,
  encodeSequences,
  type RetrieverSession,
} from "./retriever-session.ts";

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
  /** Receives what each run of the encoder makes. */
  readonly onRun?: ((run: EncodedRun) => void) | undefined;
  /** Whether runs also give the states for reading, which they compute on the way to the keys. */
  readonly withStates?: boolean | undefined;
}

/** What a run of the encoder makes of some passages. */
export interface EncodedRun {
  /** The positions of the passages. */
  readonly positions: readonly number[];
  readonly keys: readonly Float32Array[];
  /** [tokens, modelSize] of each passage, also for tokens without a key; undefined without them */
  readonly states: readonly Float32Array[] | undefined;
}

/** The keys of each passage: [tokens, vectorSize], or with pooling [1, vectorSize]. */
export async function encodePassageKeys(
  { config, tokenizer, encoder }: PassageKeyModel,
  passages: readonly PassageInput[],
  given: PassageKeyOptions,
): Promise<Float32Array[]> {
  const { maxPassageTokens, prune = (keys) => keys, known, onRun, withStates, ...others } = given;
  const ids = passages.map((passage) => passageIds(tokenizer, passage, maxPassageTokens));
  const kept = passages.map((_, i) => known?.get(i));
  const options = { ...others, isKnown: (i: number) => kept[i] !== undefined };
  const keep = (
    run: { readonly keys: Float32Array[]; readonly reading?: Float32Array[] },
    positions: readonly number[],
  ): void => {
    const keys = run.keys.map(prune);
    positions.forEach((i, row) => {
      kept[i] = keys[row];
    });
    onRun?.({ positions, keys, states: run.reading });
  };
  if (withStates) await encodeRuns(encoder, config, ids, ["keys", "reading"], keep, options);
  else await encodeRuns(encoder, config, ids, ["keys"], keep, options);
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
  const [keys] = await encodeSequences(encoder, config, [ids], "keys");
  return { ids, kept: choose(keys!) };
}
