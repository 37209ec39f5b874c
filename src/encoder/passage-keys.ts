/** Makes the token keys of passages, as an index stores them, and their states for reading. */

import { concat } from "../math/concat.ts";
import type { ModelConfig } from "../model/config.ts";
import type { PassageInput } from "../text/passage.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { type TokenizedWindow, tokenizedWindows } from "../text/tokens/windows.ts";
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
  /** Longer passages are encoded in windows of whole sentences, one after the other. */
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

/** The keys of each passage: [tokens, vectorSize], or with pooling [windows, vectorSize]. */
export async function encodePassageKeys(
  { config, tokenizer, encoder }: PassageKeyModel,
  passages: readonly PassageInput[],
  given: PassageKeyOptions,
): Promise<Float32Array[]> {
  const { maxPassageTokens, prune = (keys) => keys, known, onRun, withStates, ...others } = given;
  const windows = passages.flatMap((passage, owner) =>
    tokenizedWindows(tokenizer, passage, maxPassageTokens).map(({ ids }) => ({ ids, owner })),
  );
  const parts = passages.map((): WindowParts => ({ open: 0, keys: [], states: [] }));
  const places = windows.map(({ owner }) => parts[owner]!.open++);
  const kept = passages.map((_, i) => known?.get(i));
  const keep = (
    run: { readonly keys: Float32Array[]; readonly reading?: Float32Array[] },
    positions: readonly number[],
  ): void => {
    const finished: number[] = [];
    for (const [row, i] of positions.entries()) {
      const { owner } = windows[i]!;
      const own = parts[owner]!;
      own.keys[places[i]!] = run.keys[row]!;
      if (run.reading) own.states[places[i]!] = run.reading[row]!;
      if (--own.open === 0) finished.push(owner);
    }
    const keys = finished.map((owner) => prune(concatenated(parts[owner]!.keys)));
    const states = run.reading && finished.map((owner) => concatenated(parts[owner]!.states));
    for (const [row, owner] of finished.entries()) {
      kept[owner] = keys[row];
      parts[owner] = { open: 0, keys: [], states: [] };
    }
    if (finished.length > 0) onRun?.({ positions: finished, keys, states });
  };
  const options = {
    ...others,
    isKnown: (i: number) => known?.has(windows[i]!.owner) ?? false,
    onProgress: (_: number, tokens: number) =>
      others.onProgress?.(kept.filter((keys) => keys !== undefined).length, tokens),
  };
  const ids = windows.map((window) => window.ids);
  if (withStates) await encodeRuns(encoder, config, ids, ["keys", "reading"], keep, options);
  else await encodeRuns(encoder, config, ids, ["keys"], keep, options);
  return kept as Float32Array[];
}

/** What is made of the windows of a passage. */
interface WindowParts {
  /** Windows that are not encoded yet. */
  open: number;
  readonly keys: Float32Array[];
  readonly states: Float32Array[];
}

/** Most passages have one window, whose rows are not copied. */
const concatenated = (parts: readonly Float32Array[]): Float32Array =>
  parts.length === 1 ? parts[0]! : concat(parts);

/** The tokens of a passage in an index. */
export interface IndexedTokens {
  readonly windows: readonly TokenizedWindow[];
  /** The position among all tokens of each token key; undefined if all tokens have one. */
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
  const windows = tokenizedWindows(tokenizer, passage, maxPassageTokens);
  if (choose === undefined) return { windows, kept: undefined };
  const ids = windows.map((window) => window.ids);
  const keys = await encodeSequences(encoder, config, ids, "keys");
  return { windows, kept: choose(concatenated(keys)) };
}
