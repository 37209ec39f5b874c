/** `reatt retrieve`: the best passages for questions. */

import { type Hit, ReAtt } from "../reatt.ts";
import { replaceFile } from "../replace-file.ts";
import type { TokenIndex } from "../retrieval/token-index.ts";
import type { Question } from "../text/corpus.ts";
import { formatHits } from "./human.ts";
import { type Command, defineCommand } from "./options.ts";
import { withProgress } from "./progress.ts";
import { QUESTION_OPTIONS, questionsOf } from "./questions.ts";
import { trecRunLines } from "./trec-run.ts";

/** Questions that share a pass over the index: more, and their passages take too much memory. */
const QUESTIONS_AT_ONCE = 64;

interface Result {
  readonly question: Question;
  readonly hits: readonly Hit[];
}

export const retrieveCommand: Command = defineCommand({
  name: "retrieve",
  summary: "Finds the best passages for questions.",
  options: {
    ...QUESTION_OPTIONS,
    "top-k": { kind: "integer", help: "passages for a question", default: 100, minimum: 1 },
    json: { kind: "flag", help: "one JSON object for a question on each line" },
    run: {
      kind: "text",
      placeholder: "FILE.trec",
      help: "write a TREC run file, and nothing else without --json",
    },
  },
  async run({ "top-k": topK, json, run, ...values }, signal) {
    const questions = await questionsOf(values, signal);
    await using model = await ReAtt.load(values.model);
    await using index = await model.openIndex(values.index);
    const results = withProgress(
      "questions",
      questions.length,
      retrieveAll(model, index, questions, topK, signal),
    );
    const print = json ? printJson : printForPeople;
    if (run === undefined) return await print(results);
    await replaceFile(run, async (file) => {
      for await (const result of results) {
        await file.appendFile(trecRunLines(result.question.id, result.hits));
        if (json) await print([result]);
      }
    });
  },
});

async function* retrieveAll(
  model: ReAtt,
  index: TokenIndex,
  questions: readonly Question[],
  topK: number,
  signal: AbortSignal,
): AsyncGenerator<Result, void> {
  for (let first = 0; first < questions.length; first += QUESTIONS_AT_ONCE) {
    const together = questions.slice(first, first + QUESTIONS_AT_ONCE);
    const texts = together.map(({ question }) => question);
    const found = await model.retrieve(texts, index, { topK, signal });
    for (const [i, question] of together.entries()) yield { question, hits: found[i]! };
  }
}

async function printJson(results: AsyncIterable<Result> | Iterable<Result>): Promise<void> {
  for await (const { question, hits } of results) {
    const object = { id: question.id, results: hits.map(({ id, score }) => ({ id, score })) };
    process.stdout.write(`${JSON.stringify(object)}\n`);
  }
}

async function printForPeople(results: AsyncIterable<Result> | Iterable<Result>): Promise<void> {
  for await (const { question, hits } of results)
    process.stdout.write(`${formatHits(question.question, hits)}\n`);
}
