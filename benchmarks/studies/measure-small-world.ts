/** What a model of the small world of reatt.ts or realm.ts has learned, in a process of its own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mean } from "../../src/math/mean.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { readTrainingFile } from "../../src/training/examples/training-questions.ts";
import { ownTask, runApart } from "../bench-index/subprocess.ts";
import type { Figures } from "./study.ts";

export interface SmallWorldTask {
  readonly model: string;
  readonly corpus: string;
  readonly questions: string;
  /** Answer from what is found, by the reader `marginal`, instead of from two given passages. */
  readonly searched?: boolean;
}

/**
 * `recall@1`: the share of names for which the first passage found is about them. `em`: the share
 * of right answers from the right passage and one other, or from the 8 passages found. Both in
 * percent. `utility`: how much the right passage helps (REALM, appendix D), in nats.
 */
export const measureSmallWorld = (task: SmallWorldTask): Promise<Figures> =>
  runApart(import.meta.url, task);

const SEARCHED = { reader: "marginal", readTopK: 8, hybrid: false } as const;

const task = ownTask<SmallWorldTask>(import.meta.url);
if (task) console.log(JSON.stringify(await measure(task)));

async function measure({ model: folder, corpus, questions, searched }: SmallWorldTask) {
  const asked = await readTrainingFile(questions);
  const passages = new Map<string, Passage>();
  for await (const passage of readPassages(corpus)) passages.set(passage.id, passage);
  const directory = await mkdtemp(join(tmpdir(), "reatt-study-"));
  try {
    await using model = await ReAtt.load(folder, { threads: 1 });
    await using index = await model.index(passages.values(), { directory, replace: true });
    const names = [...new Set(asked.map(({ question }) => question))];
    const found = await hitLists(model.retrieve(names, index, { topK: 1, hybrid: false }));
    const isFound = found.map(([first], i) => Number(first!.title === names[i]));
    const isRight: number[] = [];
    const utilities: number[] = [];
    for (const { question, answers, contexts } of asked.filter((_, i) => i % 6 === 0)) {
      const read = contexts!.slice(0, 2).map((id) => passages.get(id)!);
      const { answer } = searched
        ? await model.answer(question, index, { ...SEARCHED, minimumConfidence: 0 })
        : await model.read(question, read, { minimumConfidence: 0 });
      isRight.push(Number(answer === answers[0]));
      utilities.push(...(await model.retrievalUtility(question, answers, read.slice(0, 1))));
    }
    return { "recall@1": 100 * mean(isFound), em: 100 * mean(isRight), utility: mean(utilities) };
  } finally {
    await rm(directory, { recursive: true });
  }
}
