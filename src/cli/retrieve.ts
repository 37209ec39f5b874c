/** `reatt retrieve`: the best passages for questions. */

import { InputError } from "../io/errors.ts";
import { type Hit, ReAtt, type RetrieveOptions } from "../reatt.ts";
import { type LexicalIndex, openLexicalIndex } from "../retrieval/bm25/lexical-index.ts";
import { documentOf } from "../retrieval/documents.ts";
import type { Granularity } from "../retrieval/rank.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import type { Question } from "../text/read-passages.ts";
import { ENGINE_OPTIONS, openToSearch } from "./engine.ts";
import { formatHits } from "./human.ts";
import { readIds } from "./ids.ts";
import { type Command, defineCommand } from "./options.ts";
import { startProgress, withProgress } from "./progress.ts";
import { QUESTION_OPTIONS, questionsOf } from "./questions.ts";
import { trecRunLines, writeRunFile } from "./trec-run.ts";

/** Questions that share a pass over the index: more, and their passages take too much memory. */
const QUESTIONS_PER_BATCH = 64;

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
    "top-k": {
      kind: "integer",
      help: "passages, or documents, for a question",
      default: 100,
      minimum: 1,
    },
    granularity: {
      kind: "choice",
      help: "document: passages with one title count as one, by the best of them",
      choices: ["passage", "document"] satisfies Granularity[],
      default: "passage",
    },
    lambda: {
      kind: "number",
      help: "rank by BM25 + X x the model's score; reatt benchmark DIR --tune finds X",
    },
    ids: {
      kind: "text",
      placeholder: "FILE",
      help: "find only these passages: their ids, one a line",
    },
    json: { kind: "flag", help: "one JSON object for a question on each line" },
    run: {
      kind: "text",
      placeholder: "FILE.trec",
      help: "write a TREC run file, and nothing else without --json",
    },
  },
  async run({ "top-k": topK, granularity, lambda, ids, json, run, ...values }, signal) {
    const questions = await questionsOf(values, signal);
    await using model = await ReAtt.load(values.model);
    await using index = await openToSearch(model, values.index, values, signal);
    const options: RetrieveOptions = {
      topK,
      granularity,
      filter: ids === undefined ? undefined : await readFilter(index, ids),
      hybrid:
        lambda === undefined ? undefined : { lexical: await readTexts(index, signal), lambda },
      signal,
    };
    const printed = json || run === undefined;
    const found = retrieveAll(model, index, questions, options);
    const results = withProgress("questions", questions.length, found, printed);
    const print = (result: Result) =>
      process.stdout.write(json ? toJson(result, granularity) : forPeople(result));
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
  options: RetrieveOptions,
): AsyncGenerator<Result, void> {
  for (let first = 0; first < questions.length; first += QUESTIONS_PER_BATCH) {
    const together = questions.slice(first, first + QUESTIONS_PER_BATCH);
    const texts = together.map(({ question }) => question);
    const found = await model.retrieve(texts, index, options);
    for (const [i, question] of together.entries()) yield { question, hits: found[i]! };
  }
}

/** Looks ids up once: a search that is given ids does so itself, each time. */
async function readFilter(index: TokenIndex, file: string): Promise<(ordinal: number) => boolean> {
  const ordinals = new Set<number>();
  for (const id of await readIds(file)) {
    const ordinal = await index.find(id);
    if (ordinal !== undefined) ordinals.add(ordinal);
  }
  if (ordinals.size > 0) return (ordinal) => ordinals.has(ordinal);
  throw new InputError({
    where: file,
    expected: `ids of passages in ${index.directory}`,
    got: "none of them",
    remedy: "name a file with one id a line",
  });
}

async function readTexts(index: TokenIndex, signal: AbortSignal): Promise<LexicalIndex> {
  const progress = startProgress("passages for BM25", index.passageCount);
  return openLexicalIndex(index, { signal, onProgress: progress.update }).finally(progress.stop);
}

function toJson({ question, hits }: Result, granularity: Granularity): string {
  const results = hits.map((hit) => ({
    ...(granularity === "document" && { document: documentOf(hit) }),
    id: hit.id,
    score: hit.score,
  }));
  return `${JSON.stringify({ id: question.id, results })}\n`;
}

function forPeople({ question, hits }: Result): string {
  return `${formatHits(question.question, hits)}\n`;
}
