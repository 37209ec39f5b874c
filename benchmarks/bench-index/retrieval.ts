/** Times whole retrieval, from the text of a question, in its own process. */

import { ReAtt, readQuestions } from "../../src/index.ts";
import { quantile } from "./search.ts";
import { ownTask, peakMegabytes, runApart } from "./subprocess.ts";

interface RetrievalTask {
  readonly directory: string;
  /** With words. */
  readonly hybrid: boolean;
}

/** Milliseconds a question after the first one, which reads the words if it needs them. */
interface RetrievalTimes {
  readonly hybrid: boolean;
  readonly openMs: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly processorMs: number;
  readonly peakMegabytes: number;
}

const QUESTIONS = 100;

export const timeRetrieval = (task: RetrievalTask): Promise<RetrievalTimes> =>
  runApart(import.meta.url, task);

async function timeHere({ directory, hybrid }: RetrievalTask): Promise<RetrievalTimes> {
  await using model = await ReAtt.load();
  const questions = await readQuestions("test/fixtures/squad-questions/questions.jsonl");
  const opening = performance.now();
  await using index = await model.openIndex(directory);
  const open = performance.now() - opening;
  const times: number[] = [];
  let before = process.cpuUsage();
  for (const { question } of questions.slice(0, QUESTIONS)) {
    const start = performance.now();
    await model.retrieve(question, index, { topK: 10, ...(!hybrid && { hybrid: false }) });
    if (times.push(performance.now() - start) === 1) before = process.cpuUsage();
  }
  const { user, system } = process.cpuUsage(before);
  const later = times.slice(1);
  return {
    hybrid,
    openMs: Math.round(open),
    firstMs: Math.round(times[0]!),
    p50Ms: Math.round(quantile(later, 0.5)),
    p95Ms: Math.round(quantile(later, 0.95)),
    processorMs: Math.round((user + system) / 1000 / later.length),
    peakMegabytes: peakMegabytes(),
  };
}

const task = ownTask<RetrievalTask>(import.meta.url);
if (task) process.stdout.write(JSON.stringify(await timeHere(task)));
