/** `reatt retrieve`: the best passages for questions. */

import type { InputError } from "../io/errors.ts";
import { PASSAGES_RETRIEVED, RANK_OPTIONS } from "../options/library-options.ts";
import { option, path } from "../options/option.ts";
import type { Hit } from "../reatt.ts";
import { documentOf } from "../retrieval/documents.ts";
import type { Granularity } from "../retrieval/rank.ts";
import type { Question } from "../text/read-passages.ts";
import { defineCommand } from "./command.ts";
import { OWN_PASSAGES } from "./evaluate.ts";
import { formatHits } from "./human.ts";
import { withProgress } from "./progress.ts";
import {
  type OpenSearch,
  QUESTION,
  questionOf,
  searchOptions,
  UnreadableQuestions,
  withSearch,
} from "./search.ts";
import { trecRunLines, writeRunFile } from "./trec-run.ts";

interface Result {
  readonly question: Question;
  readonly hits: readonly Hit[];
  readonly error?: InputError | undefined;
}

export const retrieveCommand = defineCommand({
  options: {
    ...searchOptions(RANK_OPTIONS.topK),
    run: option(path().optional(), {
      help: "write a TREC run file, with raw scores; without --json nothing is printed",
      placeholder: "FILE.trec",
    }),
    ownPassages: OWN_PASSAGES,
  },
  operands: QUESTION,
  example: 'reatt retrieve "Where is Normandy?" --index index --top-k 5',
  run: (values, signal, words) =>
    withSearch({ ...values, question: questionOf(values, words) }, signal, async (search) => {
      const { json, run, granularity } = values;
      const printed = json || run === undefined;
      const failures = new UnreadableQuestions(search.questions.length);
      const found = run === undefined ? retrieveAll(search) : retrieveForRun(search, values);
      const results = failures.leftOut(
        withProgress("questions", search.questions.length, found, printed),
      );
      const print = (result: Result) =>
        process.stdout.write(json ? toJson(result, granularity) : toText(result));
      if (run !== undefined) await writeRun(run, results, printed ? print : () => {});
      else for await (const result of results) print(result);
      failures.check();
    }),
});

async function* retrieveAll({
  model,
  index,
  questions,
  options,
}: OpenSearch): AsyncGenerator<Result, void> {
  const texts = questions.map(({ question }) => question);
  let position = 0;
  for await (const { passages: hits, error } of model.retrieve(texts, index, options))
    yield { question: questions[position++]!, hits, error };
}

/** Raw scores, which differ where probabilities round to the same; no passage of a query itself. */
async function* retrieveForRun(
  search: OpenSearch,
  {
    queries,
    ownPassages,
  }: { readonly queries?: string | undefined; readonly ownPassages: boolean },
): AsyncGenerator<Result, void> {
  const { topK = PASSAGES_RETRIEVED } = search.options;
  const isLeftOut = (id: string, question: Question): boolean =>
    queries !== undefined && !ownPassages && id === question.id;
  const options = { ...search.options, topK: topK + 1, explain: true };
  for await (const result of retrieveAll({ ...search, options })) {
    const hits = result.hits.filter(({ id }) => !isLeftOut(id, result.question)).slice(0, topK);
    yield { ...result, hits };
  }
}

const writeRun = (
  path: string,
  results: AsyncIterable<Result>,
  print: (result: Result) => void,
): Promise<void> =>
  writeRunFile(path, async (file) => {
    for await (const result of results) {
      const ranked = result.hits.map(({ id, scores }) => ({ id, score: scores!.ranking }));
      await file.appendFile(trecRunLines(result.question.id, ranked));
      print(result);
    }
  });

function toJson({ question, hits }: Result, granularity: Granularity): string {
  const results = hits.map((hit) => ({
    document: granularity === "document" ? documentOf(hit) : hit.document,
    id: hit.id,
    score: hit.score,
    scores: hit.scores,
    metadata: hit.metadata,
  }));
  return `${JSON.stringify({ id: question.id, results })}\n`;
}

const toText = ({ question, hits }: Result): string => `${formatHits(question.question, hits)}\n`;
