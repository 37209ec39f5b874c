/** `reatt retrieve`: the best passages for questions. */

import { RANK_OPTIONS } from "../options/library-options.ts";
import { option, path } from "../options/option.ts";
import type { Hit } from "../reatt.ts";
import { documentOf } from "../retrieval/documents.ts";
import type { Granularity } from "../retrieval/rank.ts";
import type { Question } from "../text/read-passages.ts";
import { defineCommand } from "./command.ts";
import { formatHits } from "./human.ts";
import { withProgress } from "./progress.ts";
import { type OpenSearch, QUESTION, questionOf, searchOptions, withSearch } from "./search.ts";
import { trecRunLines, writeRunFile } from "./trec-run.ts";

/** Questions of a batch share a pass over the index. Larger batches take too much memory. */
const QUESTIONS_PER_BATCH = 64;

interface Result {
  readonly question: Question;
  readonly hits: readonly Hit[];
}

export const retrieveCommand = defineCommand({
  options: {
    ...searchOptions(RANK_OPTIONS.topK, "false"),
    run: option(path().optional(), {
      help: "write a TREC run file; without --json nothing is printed",
      placeholder: "FILE.trec",
    }),
  },
  operands: QUESTION,
  example: 'reatt retrieve "Where is Normandy?" --index index --top-k 5',
  run: (values, signal, words) =>
    withSearch(
      { ...values, question: questionOf(values, words) },
      false,
      signal,
      async (search) => {
        const { json, run, granularity } = values;
        const printed = json || run === undefined;
        const { length } = search.questions;
        const results = withProgress("questions", length, retrieveAll(search), printed);
        const print = (result: Result) =>
          process.stdout.write(json ? toJson(result, granularity) : toText(result));
        if (run !== undefined) return writeRun(run, results, printed ? print : () => {});
        for await (const result of results) print(result);
      },
    ),
});

async function* retrieveAll(search: OpenSearch): AsyncGenerator<Result, void> {
  const { model, index, questions, options } = search;
  for (let first = 0; first < questions.length; first += QUESTIONS_PER_BATCH) {
    const batch = questions.slice(first, first + QUESTIONS_PER_BATCH);
    const texts = batch.map(({ question }) => question);
    const found = await model.retrieve(texts, index, options);
    for (const [i, question] of batch.entries()) yield { question, hits: found[i]! };
  }
}

const writeRun = (
  path: string,
  results: AsyncIterable<Result>,
  print: (result: Result) => void,
): Promise<void> =>
  writeRunFile(path, async (file) => {
    for await (const result of results) {
      await file.appendFile(trecRunLines(result.question.id, result.hits));
      print(result);
    }
  });

function toJson({ question, hits }: Result, granularity: Granularity): string {
  const results = hits.map((hit) => ({
    document: granularity === "document" ? documentOf(hit) : hit.document,
    id: hit.id,
    score: hit.score,
    metadata: hit.metadata,
  }));
  return `${JSON.stringify({ id: question.id, results })}\n`;
}

const toText = ({ question, hits }: Result): string => `${formatHits(question.question, hits)}\n`;
