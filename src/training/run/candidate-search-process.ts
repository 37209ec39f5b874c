/**
 * The program that `background-search.ts` starts: indexes the corpus with the model of a snapshot, and answers searches until
 * the process that started it ends it, or is gone.
 */

import { on } from "node:events";
import { finished, reporting } from "../../io/progress.ts";
import type { CandidateRetriever } from "../data/candidates.ts";
import type { SearchReply, SearchRequest } from "./background-search.ts";
import { type IndexingSettings, modelSearch, withIndexedModel } from "./current-model.ts";

process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {}); // Ctrl-C reaches both: the run saves, and then ends this one

const requests = on(process, "message") as AsyncIterable<[SearchRequest]>; // from now on: none is missed while indexing
const settings: IndexingSettings = JSON.parse(process.argv[2]!);

async function answer(search: CandidateRetriever): Promise<void> {
  for await (const [request] of requests) await reply({ found: await search(...request) });
}

const reply = (message: SearchReply): Promise<void> =>
  new Promise((resolve) => process.send!(message, () => resolve()));

try {
  await finished(
    withIndexedModel(settings, (model, index) =>
      reporting(() => answer(modelSearch(model, index))),
    ),
  );
} catch (error) {
  await reply({ error: error instanceof Error ? error.message : String(error) });
  process.disconnect();
}
