/** `reatt retrieve`: the best passages for questions. */

import type { InputError } from "../../io/errors.ts";
import { flag, option, own, path } from "../../options/option.ts";
import { RANK_OPTIONS } from "../../options/search-request.ts";
import type { Hit } from "../../reatt.ts";
import { documentOf } from "../../retrieval/documents.ts";
import { placeOf } from "../../retrieval/places/place-of.ts";
import type { Granularity } from "../../retrieval/rank.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { readRecord } from "../../sync/record.ts";
import { placeInWords } from "../../text/place.ts";
import type { Question } from "../../text/read-passages.ts";
import { defineCommand } from "../line/command.ts";
import { CSV_HEADER, pathsIn, toCsv, toFiles, toMarkdown } from "../output/hit-formats.ts";
import { formatHits } from "../output/human.ts";
import { withProgress } from "../output/progress.ts";
import {
  DESCRIPTION,
  type OpenSearch,
  QUESTION,
  questionOf,
  searchOptions,
  UnreadableQuestions,
  withSearch,
} from "../shared/search.ts";
import { UsageError } from "../shared/usage-error.ts";
import { OWN_PASSAGES } from "./evaluation/evaluate.ts";
import { trecRunLines, writeRunFile } from "./evaluation/trec-run.ts";

interface Result {
  readonly question: Question;
  readonly hits: readonly Hit[];
  readonly error?: InputError | undefined;
}

/** What is printed in place of excerpts. */
const FORMATS = {
  files: option(flag().default(false), {
    help: "print the paths of the documents, one a line",
    own: true,
  }),
  csv: option(flag().default(false), { help: "print comma-separated values", own: true }),
  md: option(flag().default(false), { help: "print Markdown with whole passages", own: true }),
};

export const retrieveCommand = defineCommand({
  options: {
    ...searchOptions(RANK_OPTIONS.topK),
    ...FORMATS,
    description: DESCRIPTION,
    run: option(path().optional(), {
      help: "write a TREC run file, with raw scores; nothing is printed without a format",
      placeholder: "FILE.trec",
      own: true,
    }),
    ownPassages: own(OWN_PASSAGES),
  },
  operands: QUESTION,
  example: 'reatt retrieve "Where is Normandy?" --index index --top-k 5',
  run: (values, signal, words) =>
    withSearch({ ...values, question: questionOf(values, words) }, signal, async (search) => {
      const { json, files, csv, md, run } = values;
      const format = await formatOf(values, search.index);
      const printed = json || files || csv || md || run === undefined;
      const failures = new UnreadableQuestions(search.questions.length);
      const found = run === undefined ? retrieveAll(search) : retrieveForRun(search, values);
      const results = failures.leftOut(
        withProgress("questions", search.questions.length, found, printed),
      );
      const print = (result: Result) => process.stdout.write(format(result));
      if (csv) process.stdout.write(CSV_HEADER);
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

interface RunValues {
  readonly topK: number;
  readonly queries?: string | undefined;
  readonly ownPassages: boolean;
}

/** Raw scores, which differ where probabilities round to the same; no passage of a query itself. */
async function* retrieveForRun(
  search: OpenSearch,
  { topK, queries, ownPassages }: RunValues,
): AsyncGenerator<Result, void> {
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

interface FormatValues {
  readonly json: boolean;
  readonly files: boolean;
  readonly csv: boolean;
  readonly md: boolean;
  readonly granularity: Granularity;
  readonly description?: string | undefined;
}

/** @throws {UsageError} for two formats */
async function formatOf(
  values: FormatValues,
  index: TokenIndex,
): Promise<(result: Result) => string> {
  const { json, files, csv, md } = values;
  const given = Object.entries({ json, files, csv, md }).filter(([, isGiven]) => isGiven);
  if (given.length > 1) throw new UsageError(`--${given[0]![0]} with --${given[1]![0]}`);
  if (json) return (result) => toJson(result, values);
  const pathOf = pathsIn(await foldersOf(index));
  if (files) return ({ hits }) => toFiles(hits, pathOf);
  if (csv) return ({ question: { question }, hits }) => toCsv(question, hits, pathOf);
  if (md) return ({ question: { question }, hits }) => toMarkdown(question, hits, pathOf);
  return toText;
}

/** The folder of the documents of each collection, or of the only index. */
async function foldersOf({
  indexes,
}: TokenIndex): Promise<(collection?: string) => string | undefined> {
  const folders = new Map<string, string | undefined>();
  for (const { collection, directory } of indexes) {
    await using place = placeOf(directory);
    folders.set(collection, (await readRecord(place))?.folder);
  }
  return (collection = indexes[0]!.collection) => folders.get(collection);
}

function toJson(
  { question, hits }: Result,
  { granularity, description }: Pick<FormatValues, "granularity" | "description">,
): string {
  const results = hits.map((hit) => ({
    document: granularity === "document" ? documentOf(hit) : hit.document,
    collection: hit.collection,
    id: hit.id,
    score: hit.score,
    scores: hit.scores,
    place: placeInWords(hit.metadata),
    link: hit.link,
    description,
    metadata: hit.metadata,
  }));
  return `${JSON.stringify({ id: question.id, results })}\n`;
}

const toText = ({ question, hits }: Result): string => `${formatHits(question.question, hits)}\n`;
