/** A worker thread of parallel-search.ts: searches the questions that no other thread has taken. */

import { parentPort, workerData } from "node:worker_threads";
import { residualDecoder } from "../codec/key-decoder.ts";
import { openCompressedStore } from "../index/format/compressed-store.ts";
import { openCompressed } from "../index/format/segment.ts";
import type { Ranking } from "../scoring/top-k.ts";
import { openCentroidSearch } from "./centroid-search.ts";
import { isAccepted, type SearchTask, type SharedIndex, takeQuestions } from "./parallel-search.ts";

const { shared, segments, codebook, options } = workerData as SharedIndex;
const store = openCompressedStore(
  segments.map(({ files, ...segment }) => ({ ...segment, ...openCompressed(shared, files) })),
  codebook.dimension,
  residualDecoder(codebook),
);
const engine = await openCentroidSearch(store, codebook, options);

parentPort!.on("message", async (task: SearchTask | undefined) => {
  if (!task) {
    await engine[Symbol.asyncDispose]();
    return parentPort!.close();
  }
  const { questions, also, topK, accepted, next } = task;
  const accept = (ordinal: number) => isAccepted(accepted, ordinal);
  const found: Ranking[] = [];
  try {
    for (const i of takeQuestions(questions.length, next))
      found[i] = (await engine.searchAlso([questions[i]!], [also[i]!], { topK, accept }))[0]!;
  } catch {
    // the main thread searches the question again, which gives the caller the error itself
  }
  task.found.postMessage(found);
});
