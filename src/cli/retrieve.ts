/** `reatt retrieve`: the best passages for questions. */

import { type Hit, ReAtt } from "../reatt.ts";
import type { TokenIndex } from "../retrieval/token-index.ts";
import type { Question } from "../text/corpus.ts";
import { ENGINE_OPTIONS, openToSearch } from "./engine.ts";
import { formatHits } from "./human.ts";
import { type Command, defineCommand } from "./options.ts";
import { withProgress } from "./progress.ts";
import { QUESTION_OPTIONS, questionsOf } from "./questions.ts";
import { trecRunLines, writeRunFile } from "./trec-run.ts";

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
    ...ENGINE_OPTIONS,
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
    await using index = await openToSearch(model, values.index, values, signal);
    const printed = json || run === undefined;
    const found = retrieveAll(model, index, questions, topK, signal);
    const results = withProgress("questions", questions.length, found, printed);
    const print = (result: Result) => process.stdout.write(json ? toJson(result) : forPeople(result));
    if (run === undefined) {
      for await (const result of results) print(result);
      return;
    }
    await writeRunFile(run, async (file) => {
      for await (const result of results) {
        await file.appendFile(trecRunLines(result.question.id, result.hits));
        if (printed) print(result);
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

function toJson({ question, hits }: Result): string {
  const results = hits.map(({ id, score }) => ({ id, score }));
  return `${JSON.stringify({ id: question.id, results })}\n`;
}

function forPeople({ question, hits }: Result): string {
  return `${formatHits(question.question, hits)}\n`;
}
