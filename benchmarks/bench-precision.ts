/**
 * Compares models that differ in the precision of their weights: quality on questions, agreement
 * with the first model, and times.
 *
 *     npm run bench:precision -- MODEL... [--questions FILE] [--count N] [--passages FILE]
 *     npm run bench:precision -- MODEL... --speed [--passages FILE]
 *
 * Every model builds its own index. `--count` questions are drawn at equal distances. Prints a JSON
 * object for each model. `--speed` measures processor time alone: models alternate on one thread,
 * and each figure is the minimum of its runs, since other programs can only make it larger.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch, f1 } from "../src/evaluation/answers.ts";
import { mean } from "../src/math/mean.ts";
import { hitLists } from "../src/reatt/retrieving.ts";
import { ReAtt } from "../src/reatt.ts";
import type { Passage } from "../src/text/passage.ts";
import { type Question, readPassages, readQuestions } from "../src/text/read-passages.ts";

const RANKED = 20;
const COMPARED = 10; // passages whose ids are compared
const READ = 5; // passages
const RUNS = 12;
const QUESTION = "Which country did they come from, and when?";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    questions: { type: "string", default: "../shared/data/squad/train.jsonl" },
    count: { type: "string", default: "300" },
    passages: { type: "string", default: "data/squad/corpus.jsonl" },
    speed: { type: "boolean", default: false },
  },
});

/** What a model finds and answers, and the seconds that it takes. */
interface Results {
  readonly found: readonly (readonly string[])[];
  readonly answers: readonly string[];
  readonly indexing: number;
  readonly retrieving: number;
  readonly reading: number;
}

async function runModel(name: string, questions: readonly Question[]): Promise<Results> {
  const directory = await mkdtemp(join(tmpdir(), "reatt-precision-"));
  try {
    await using model = await ReAtt.load(name);
    const times = [performance.now()];
    await using index = await model.index(readPassages(values.passages), { directory });
    times.push(performance.now());
    const texts = questions.map(({ question }) => question);
    const hits = await hitLists(model.retrieve(texts, index, { topK: RANKED, hybrid: false }));
    times.push(performance.now());
    const lists = hits.map((passages) => passages.slice(0, READ));
    const answers: string[] = [];
    for await (const { answer } of model.read(texts, lists, { minimumConfidence: 0 }))
      answers.push(answer);
    times.push(performance.now());
    const [indexing, retrieving, reading] = times
      .slice(1)
      .map((end, i) => Number(((end - times[i]!) / 1000).toFixed(1)));
    const found = hits.map((passages) => passages.map(({ id }) => id));
    return {
      found,
      answers,
      indexing: indexing!,
      retrieving: retrieving!,
      reading: reading!,
    };
  } finally {
    await rm(directory, { recursive: true });
  }
}

const percent = (shares: readonly number[]): number => Number((100 * mean(shares)).toFixed(1));

function compare(questions: readonly Question[], results: Results, first: Results): object {
  const recall = (depth: number): number =>
    percent(
      questions.map(({ passageId }, i) =>
        Number(results.found[i]!.slice(0, depth).includes(passageId!)),
      ),
    );
  const measure = (of: (answer: string, gold: readonly string[]) => number): number =>
    percent(questions.map(({ answers }, i) => of(results.answers[i]!, answers!)));
  const shared = results.found.map((ids, i) => {
    const others = new Set(first.found[i]!.slice(0, COMPARED));
    return ids.slice(0, COMPARED).filter((id) => others.has(id)).length / COMPARED;
  });
  const { indexing, retrieving, reading } = results;
  return {
    R1: recall(1),
    R5: recall(5),
    R20: recall(20),
    EM: measure((answer, gold) => Number(exactMatch(answer, gold))),
    F1: measure(f1),
    sameTop10: percent(shared),
    sameFirst: percent(results.found.map((ids, i) => Number(ids[0] === first.found[i]![0]))),
    sameAnswer: percent(results.answers.map((answer, i) => Number(answer === first.answers[i]))),
    seconds: { indexing, retrieving, reading },
  };
}

/** Milliseconds of each model: vectors of 16 passages and a question; an answer from 10 of them,
 * whose states of the lower layers are cached. */
async function compareSpeed(names: readonly string[]): Promise<void> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(values.passages))
    if (passages.push(passage) === 16) break;
  const models = await Promise.all(names.map((name) => ReAtt.load(name, { threads: 1 })));
  const best = models.map(() => ({
    encoding: Number.POSITIVE_INFINITY,
    reading: Number.POSITIVE_INFINITY,
  }));
  for (let run = 0; run < RUNS; run++)
    for (const [i, model] of models.entries()) {
      const start = processorTime();
      await model.rerank(QUESTION, passages);
      const middle = processorTime();
      await model.read(QUESTION, passages.slice(0, 10), { maxAnswerTokens: 8 });
      const end = processorTime();
      best[i]!.encoding = Math.min(best[i]!.encoding, middle - start);
      best[i]!.reading = Math.min(best[i]!.reading, end - middle);
    }
  for (const [i, model] of models.entries()) {
    const { encoding, reading } = best[i]!;
    console.log(
      JSON.stringify({
        model: names[i],
        encoding: Number(encoding.toFixed(1)),
        reading: Number(reading.toFixed(1)),
      }),
    );
    await model[Symbol.asyncDispose]();
  }
}

/** Milliseconds. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function compareQuality(names: readonly string[]): Promise<void> {
  const all = await readQuestions(values.questions);
  const count = Math.min(Number(values.count), all.length);
  const questions = Array.from(
    { length: count },
    (_, i) => all[Math.floor((i * all.length) / count)]!,
  );
  let first: Results | undefined;
  for (const name of names) {
    const results = await runModel(name, questions);
    first ??= results;
    console.log(JSON.stringify({ model: name, ...compare(questions, results, first) }));
  }
}

await (values.speed ? compareSpeed : compareQuality)(positionals);
