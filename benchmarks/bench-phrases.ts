/**
 * Exact match of phrases, and the processor time of their search.
 *
 *     node --import tsx benchmarks/bench-phrases.ts --model DIR --index DIR --queries FILE.jsonl
 *
 * The questions have `answers` and the `passage_id` of their gold passage. Phrases are searched in
 * the whole index, in the best passages of hybrid search, and in the gold passage.
 */

import { parseArgs } from "node:util";
import { exactMatch, f1 } from "../src/evaluation/answers.ts";
import { mean } from "../src/math/mean.ts";
import { type PhraseOptions, ReAtt } from "../src/reatt.ts";
import type { Question } from "../src/text/read-passages.ts";
import { readTrainingFile } from "../src/training/examples/training-questions.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    index: { type: "string", default: "" },
    queries: { type: "string", default: "" },
  },
});

await using model = await ReAtt.load(values.model, { threads: 1 });
await using index = await model.openIndex(values.index, { threads: 1 });
const questions = await readTrainingFile(values.queries);

const best =
  (topK: number) =>
  async ({ question }: Question): Promise<PhraseOptions> => {
    const hits = await model.retrieve(question, index, { topK, hybrid: true });
    return { filter: new Set(hits.map(({ id }) => id)) };
  };

/** The passages in which the phrases of a question are searched. */
const PLACES: Record<string, (question: Question) => Promise<PhraseOptions>> = {
  index: async () => ({}),
  "5 passages of hybrid search": best(5),
  "best passage of hybrid search": best(1),
  "gold passage": async ({ passageId }) => ({ filter: new Set([passageId!]) }),
};

for (const [name, optionsOf] of Object.entries(PLACES)) {
  await model.phrases(questions[0]!.question, index, await optionsOf(questions[0]!)); // warm-up
  const scores: [exact: number, overlap: number, found: number][] = [];
  let microseconds = 0;
  for (const asked of questions) {
    const options = await optionsOf(asked);
    const before = process.cpuUsage();
    const phrases = await model.phrases(asked.question, index, { ...options, topK: 10 });
    const { user, system } = process.cpuUsage(before);
    microseconds += user + system;
    const isRight = (answer: string) => exactMatch(answer, asked.answers);
    const [first] = phrases;
    scores.push([
      Number(first !== undefined && isRight(first.answer)),
      f1(first?.answer ?? "", asked.answers),
      Number(phrases.some(({ answer }) => isRight(answer))),
    ]);
  }
  const [exact, overlap, found] = [0, 1, 2].map((i) =>
    (100 * mean(scores.map((one) => one[i]!))).toFixed(1),
  );
  const milliseconds = (microseconds / 1000 / questions.length).toFixed(1);
  console.log(
    `${name}: exact match ${exact}, F1 ${overlap}, among 10 ${found}; ${milliseconds} ms of processor time`,
  );
}
