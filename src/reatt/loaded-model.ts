/** A model in memory, and what indexing, retrieving and reading share. */

import type { TokenizedQuestion } from "../decoder/answers.ts";
import type { PlaceCache } from "../decoder/place-cache.ts";
import type { ReaderSession } from "../decoder/reader-session.ts";
import type { Retriever } from "../encoder/open-retriever.ts";
import { encodePassageKeys, type PassageKeyModel } from "../encoder/passage-keys.ts";
import { encodeSequences } from "../encoder/retriever-session.ts";
import type { StateCache } from "../encoder/state-cache.ts";
import { InputError } from "../io/errors.ts";
import type { Lifetime } from "../io/lifetime.ts";
import { type ModelConfig, vectorSize } from "../model/config.ts";
import type { SearchingModel } from "../retrieval/places/searching-model.ts";
import { exactScore } from "../retrieval/scoring/exact-score.ts";
import type { PassageInput } from "../text/passage.ts";
import { retrievalQuestionIds } from "../text/tokens/prompts.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";
import { windowsOf } from "../text/tokens/windows.ts";

/** It holds native memory. */
export interface LoadedModel extends AsyncDisposable {
  readonly folder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly retriever: Retriever;
  /** What decides whether the model can search an index. */
  readonly searching: SearchingModel & { readonly statesFingerprint: string };
  /** Opened at the first call, because the reader has most of the weights. */
  reader(): Promise<ReaderSession>;
  /** The states of passages that several questions find. */
  readonly states: StateCache;
  /** Where the tokens of such passages stand. */
  readonly places: PlaceCache;
  readonly lifetime: Lifetime;
}

/** What makes the keys of passages. */
export const passageKeyModel = ({
  config,
  tokenizer,
  retriever,
}: LoadedModel): PassageKeyModel => ({ config, tokenizer, encoder: retriever.encoder });

export const tokenize = ({ tokenizer }: LoadedModel, text: string): TokenizedQuestion => ({
  text,
  ids: retrievalQuestionIds(tokenizer, text),
});

/** The tokens of a question, or why it cannot be read, such as its length. */
export function tokenizeOrError(
  model: LoadedModel,
  text: string,
): { readonly question?: TokenizedQuestion; readonly error?: InputError } {
  try {
    return { question: tokenize(model, text) };
  } catch (error) {
    if (error instanceof InputError) return { error };
    throw error;
  }
}

export function encodeQuestions(
  { config, retriever }: LoadedModel,
  questions: readonly TokenizedQuestion[],
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const ids = questions.map((question) => question.ids);
  return encodeSequences(retriever.queryEncoder, config, ids, "queries", { signal });
}

/**
 * The retrieval scores of passages for a question, with float32 keys. The score of a passage that
 * is longer than `maxPassageTokens` is that of its best window (Dai and Callan 2019, MaxP).
 */
export async function scorePassages(
  model: LoadedModel,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  { maxPassageTokens, signal }: ScoreOptions,
): Promise<number[]> {
  const [vectors] = await encodeQuestions(model, [question], signal);
  const windows = passages.flatMap((passage, owner) =>
    windowsOf(model.tokenizer, passage, maxPassageTokens).map(({ title, text }) => {
      return { owner, passage: { id: passage.id, title, text } };
    }),
  );
  const keys = await encodePassageKeys(
    passageKeyModel(model),
    windows.map(({ passage }) => passage),
    { maxPassageTokens, signal },
  );
  const scores = passages.map(() => -Infinity);
  for (const [i, { owner }] of windows.entries()) {
    const score = exactScore(vectors!, keys[i]!, vectorSize(model.config));
    scores[owner] = Math.max(scores[owner]!, score);
  }
  return scores;
}

interface ScoreOptions {
  readonly maxPassageTokens: number;
  readonly signal?: AbortSignal | undefined;
}
