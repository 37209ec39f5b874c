/**
 * The program that `background-search.ts` starts. It indexes the corpus with the model of a
 * snapshot, then replies to requests until its parent ends it or is gone.
 */

import { on } from "node:events";
import { finished, reporting } from "../../io/progress.ts";
import type { CandidateRetriever } from "../examples/candidates.ts";
import { corpusChanged, openCorpus } from "../examples/corpus.ts";
import type {
  BackgroundSearchRequest,
  SearchProcessOptions,
  SearchReply,
} from "./background-search.ts";
import { modelCandidates, withIndexedModel } from "./current-model.ts";

process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {}); // Ctrl-C reaches both: the parent saves, then ends this process

// Listens from the start, so that no request is lost during the indexing.
const requests = on(process, "message") as AsyncIterable<[BackgroundSearchRequest]>;
const options: SearchProcessOptions = JSON.parse(process.argv[2]!);

async function answerRequests(retriever: CandidateRetriever): Promise<void> {
  for await (const [request] of requests) await reply({ candidates: await retriever(...request) });
}

const reply = (message: SearchReply): Promise<void> =>
  new Promise((resolve) => process.send!(message, () => resolve()));

try {
  const { file, digest } = options.corpus;
  await using corpus = await openCorpus(file);
  if (corpus.digest !== digest) throw corpusChanged(file);
  await finished(
    withIndexedModel(corpus, options, (model, index) =>
      reporting(() => answerRequests(modelCandidates(model, index))),
    ),
  );
} catch (error) {
  await reply({ error: error instanceof Error ? error.message : String(error) });
  process.disconnect();
}
