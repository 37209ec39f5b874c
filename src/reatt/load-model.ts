/** Loads a model: finds its folder, reads configuration and tokenizer, opens the retriever. */

import { resolve } from "node:path";
import { PlaceCache } from "../decoder/place-cache.ts";
import { openReaderSession, type ReaderSession } from "../decoder/reader-session.ts";
import { openRetriever } from "../encoder/open-retriever.ts";
import { StateCache } from "../encoder/state-cache.ts";
import { locateModel } from "../hub/locate-model.ts";
import { modelTitle } from "../hub/model-title.ts";
import { Lifetime } from "../io/lifetime.ts";
import { readOpened } from "../io/open-file.ts";
import { readConfig } from "../model/config-file.ts";
import { statesFingerprint } from "../model/fingerprint.ts";
import { findWeights, openStored } from "../model/load-weights.ts";
import type { Resolved } from "../options/option.ts";
import type { CompileOptions } from "../tensor/session.ts";
import { loadTokenizer, tokenizerFile } from "../text/tokens/tokenizer.ts";
import type { LoadedModel } from "./loaded-model.ts";
import type { LOAD } from "./options.ts";

/** @param model a folder or a name on the hub; undefined for the model of this package */
export async function loadModel(
  model: string | undefined,
  { provider, threads, onProgress, signal }: Resolved<typeof LOAD>,
): Promise<LoadedModel> {
  const folder = await locateModel(model, { onProgress, signal });
  const config = await readConfig(folder);
  const tokenizerPath = tokenizerFile(folder);
  const tokenizer = await loadTokenizer(tokenizerPath, config);
  await using stored = await openStored(folder, config);
  const weights = await findWeights(stored, config);
  const options: CompileOptions = { provider, threads, weights };
  const retriever = await openRetriever(config, stored, await readOpened(tokenizerPath), options);
  const { fingerprint } = retriever;
  const { pooling } = config.retrievalAttention;
  const reader = openedOnce(async () => {
    await stored.checkUnchanged();
    return openReaderSession(config, options);
  });
  return {
    folder,
    config,
    tokenizer,
    retriever,
    searching: {
      fingerprint,
      model: { title: modelTitle(folder), path: resolve(folder) },
      pooling,
      statesFingerprint: statesFingerprint(config, fingerprint),
    },
    reader: reader.get,
    states: new StateCache(),
    places: new PlaceCache(),
    lifetime: new Lifetime(`the model ${folder}`, "load it again"),
    async [Symbol.asyncDispose]() {
      await Promise.all([retriever[Symbol.asyncDispose](), reader.close()]);
    },
  };
}

/** Opens the reader at the first use, and again after a failure. */
function openedOnce(open: () => Promise<ReaderSession>): {
  get(): Promise<ReaderSession>;
  close(): Promise<void>;
} {
  let session: Promise<ReaderSession> | undefined;
  return {
    get() {
      session ??= open().catch((error: unknown) => {
        session = undefined;
        throw error;
      });
      return session;
    },
    async close() {
      await (await session)?.[Symbol.asyncDispose]();
    },
  };
}
