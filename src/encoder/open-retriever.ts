/** Opens the part of a stored model that indexes and retrieves. */

import type { ModelConfig } from "../model/config.ts";
import { fingerprintOf } from "../model/kept-fingerprints.ts";
import type { StoredWeights } from "../model/load-weights.ts";
import { type CompileOptions, roundsInputs } from "../tensor/session.ts";
import { openRetrieverSession, querySide, type RetrieverSession } from "./retriever-session.ts";

/** It holds native memory. */
export interface Retriever extends AsyncDisposable {
  /** Of the keys that `encoder` makes (see `fingerprint`). */
  readonly fingerprint: string;
  readonly encoder: RetrieverSession;
  /** `encoder` itself, unless the model has a query encoder. */
  readonly queryEncoder: RetrieverSession;
}

/**
 * @param stored the weights of the model, of which `options.weights` are
 * @param tokenizerBytes the tokenizer's file
 */
export async function openRetriever(
  config: ModelConfig,
  stored: StoredWeights,
  tokenizerBytes: Uint8Array,
  options: CompileOptions,
): Promise<Retriever> {
  const integers = roundsInputs(options);
  const identity = await fingerprintOf(config, stored, tokenizerBytes, { integers });
  const [encoder, queryEncoder = encoder] = await Promise.all([
    openRetrieverSession(config, options),
    config.queryEncoder ? openRetrieverSession(config, options, querySide) : undefined,
  ]);
  return {
    fingerprint: identity,
    encoder,
    queryEncoder,
    async [Symbol.asyncDispose]() {
      for (const session of new Set([encoder, queryEncoder])) await session[Symbol.asyncDispose]();
    },
  };
}
