/** Loads a model and does one kind of work, in its own process. */

import { ReAtt } from "../../src/reatt.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { ownTask, peakMegabytes } from "../bench-index/subprocess.ts";

const CORPUS = "data/squad/corpus.jsonl";
export const QUESTION = "Who patented a steam engine in 1781?";
export const MAX_ANSWER_TOKENS = 8; // a random model does not end its answers

export interface Task {
  readonly what: "index" | "retrieve" | "answer";
  readonly model: string;
  readonly index: string;
  readonly passages: number;
  readonly topK: number;
}

/** Seconds of the stages, and the peak of memory. */
export interface Report {
  readonly seconds: Readonly<Record<string, number>>;
  readonly megabytes: number;
}

async function runTask({ what, model: folder, index, passages, topK }: Task): Promise<Report> {
  const seconds: Record<string, number> = {};
  const time = async <T>(stage: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    seconds[stage] = Number(((performance.now() - start) / 1000).toFixed(2));
    return result;
  };
  await using model = await time("load", () => ReAtt.load(folder));
  if (what === "index") {
    await using _ = await time("index", () =>
      model.index(firstPassages(passages), { directory: index }),
    );
  } else {
    await using opened = await model.openIndex(index);
    const search = (): Promise<unknown> => model.retrieve(QUESTION, opened, { topK });
    const answer = (): Promise<unknown> =>
      model.answer(QUESTION, opened, { topK, readTopK: topK, maxAnswerTokens: MAX_ANSWER_TOKENS });
    await time(`first ${what}`, what === "retrieve" ? search : answer);
    await time(`next ${what}`, what === "retrieve" ? search : answer);
  }
  return { seconds, megabytes: peakMegabytes() };
}

/** Passages of the corpus. */
export async function* firstPassages(count: number): AsyncGenerator<Passage> {
  let left = count;
  for await (const passage of readPassages(CORPUS)) {
    if (left-- === 0) return;
    yield passage;
  }
}

const task = ownTask<Task>(import.meta.url);
if (task) console.log(JSON.stringify(await runTask(task)));
