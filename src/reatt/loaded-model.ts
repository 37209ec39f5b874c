/** A model in memory, and what indexing, retrieving and reading share. */

import type { TokenizedQuestion } from "../decoder/answers.ts";
import type { ReaderSession } from "../decoder/reader-session.ts";
import type { Retriever } from "../encoder/open-retriever.ts";
import { encodePassageKeys, type PassageKeyModel } from "../encoder/passage-keys.ts";
import { encodeSequences } from "../encoder/retriever-session.ts";
import type { StateCache } from "../encoder/state-cache.ts";
import type { Lifetime } from "../io/lifetime.ts";
import { type ModelConfig, vectorSize } from "../model/config.ts";
import { exactScore } from "../retrieval/scoring/exact-score.ts";
import type { SearchingModel } from "../retrieval/searching-model.ts";
import type { PassageInput } from "../text/passage.ts";
import { retrievalQuestionIds } from "../text/prompts.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

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

export function encodeQuestions(
  { config, retriever }: LoadedModel,
  questions: readonly TokenizedQuestion[],
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const ids = questions.map((question) => question.ids);
  return encodeSequences(retriever.queryEncoder, config, ids, "queries", { signal });
}

/** The retrieval scores of passages for a question, with float32 keys. */
export async function scorePassages(
  model: LoadedModel,
  question: TokenizedQuestion,
  passages: readonly PassageInput[],
  options: { readonly maxPassageTokens: number; readonly signal?: AbortSignal | undefined },
): Promise<number[]> {
  const [vectors] = await encodeQuestions(model, [question], options.signal);
  const { maxPassageTokens, signal } = options;
  const keys = await encodePassageKeys(passageKeyModel(model), passages, {
    maxPassageTokens,
    signal,
  });
  return keys.map((own) => exactScore(vectors!, own, vectorSize(model.config)));
}
