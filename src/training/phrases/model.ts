/** The model whose phrase queries are trained. */

import { readFile } from "node:fs/promises";
import { openRetriever } from "../../encoder/open-retriever.ts";
import { indexedTokens } from "../../encoder/passage-keys.ts";
import type { RetrieverSession } from "../../encoder/retriever-session.ts";
import type { ModelConfig } from "../../model/config.ts";
import { readConfig } from "../../model/config-file.ts";
import { initialWeight } from "../../model/initialise.ts";
import { findWeights, openStored, readWeights } from "../../model/load-weights.ts";
import { isOfPhraseQueries, parameterTable } from "../../model/parameter-names.ts";
import type { IndexHeader } from "../../retrieval/index/format/manifest.ts";
import { chooserOf } from "../../retrieval/index/write/token-pruning.ts";
import type { PlacesOf } from "../../retrieval/search-phrases.ts";
import { windowPlaces } from "../../text/tokens/token-places.ts";
import { loadTokenizer, type Tokenizer, tokenizerFile } from "../../text/tokens/tokenizer.ts";
import { type ParameterState, parameterState } from "../engine/optimizer.ts";
import { requirePhraseKeys } from "../options/model-folder.ts";

export interface PhraseModel extends AsyncDisposable {
  readonly folder: string;
  /** With phrase queries. */
  readonly config: ModelConfig;
  readonly fingerprint: string;
  readonly tokenizer: Tokenizer;
  /** The weights that do not change, by their names in the checkpoint. */
  readonly weights: ReadonlyMap<string, Float32Array>;
  /** The weights of the phrase queries. */
  readonly parameters: ReadonlyMap<string, ParameterState>;
  readonly queryEncoder: RetrieverSession;
  /** Where the token keys of passages stand in an index with this header. */
  placesOf(header: IndexHeader): PlacesOf;
}

/** Phrase queries that the model does not have begin with random weights. */
export async function openPhraseModel({
  model: folder,
  seed,
  threads,
}: {
  readonly model: string;
  readonly seed: number;
  readonly threads?: number | undefined;
}): Promise<PhraseModel> {
  const stored = await readConfig(folder);
  requirePhraseKeys(stored, folder);
  const tokenizerPath = tokenizerFile(folder);
  const tokenizer = await loadTokenizer(tokenizerPath, stored);
  await using checkpoint = await openStored(folder, stored);
  const weights = await readWeights(checkpoint, stored);
  const config = { ...stored, phraseQueries: true };
  const parameters = new Map<string, ParameterState>();
  for (const [name, weight] of parameterTable(config))
    if (isOfPhraseQueries(name)) {
      const values = weights.get(name) ?? initialWeight(name, weight, seed);
      parameters.set(name, parameterState(weight.shape, values));
      weights.delete(name);
    }
  // as they are stored, so that keys and queries are those of `ReAtt.load`
  const compileOptions = { threads, weights: await findWeights(checkpoint, stored) };
  const lower = { ...stored, phraseQueries: undefined };
  const tokenizerBytes = await readFile(tokenizerPath);
  const retriever = await openRetriever(lower, checkpoint, tokenizerBytes, compileOptions);
  const { encoder, queryEncoder } = retriever;
  const placesOf =
    (header: IndexHeader): PlacesOf =>
    async (passage, keys) => {
      const parts = { config: lower, tokenizer, encoder };
      const choose = chooserOf(header, keys);
      const { windows, kept } = await indexedTokens(
        parts,
        passage,
        header.maxPassageTokens,
        choose,
      );
      return windowPlaces(tokenizer, passage.text, windows, kept);
    };
  return {
    folder,
    config,
    tokenizer,
    weights,
    parameters,
    queryEncoder,
    placesOf,
    fingerprint: retriever.fingerprint,
    [Symbol.asyncDispose]: () => retriever[Symbol.asyncDispose](),
  };
}
