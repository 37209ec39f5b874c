/** What `retrieve` and `answer` share: questions, an open index, and the options of retrieval. */

import { InputError } from "../io/errors.ts";
import { HYBRID_OPTIONS, RANK_OPTIONS } from "../options/library-options.ts";
import { option, optionally, path, type Resolved, text, withDefault } from "../options/option.ts";
import { ReAtt, type RetrieveOptions } from "../reatt.ts";
import { DEFAULT_PARAMETERS } from "../retrieval/bm25/bm25.ts";
import { openLexicalIndex } from "../retrieval/bm25/lexical-index.ts";
import type { HybridOptions } from "../retrieval/hybrid.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { type Question, readQuestions } from "../text/read-passages.ts";
import { ENGINE_OPTIONS, openToSearch } from "./engine.ts";
import { INDEX, JSON_LINES, MODEL, readIds } from "./file-options.ts";
import { startProgress } from "./progress.ts";
import { UsageError } from "./usage-error.ts";

/** @param passages the default of `--top-k` */
export const searchOptions = (passages: number) => ({
  model: MODEL,
  index: INDEX,
  question: option(text().optional(), { help: "the question", placeholder: "TEXT" }),
  queries: option(path().optional(), {
    help: 'questions, one a line: {"_id","text"} or {"id","question"}',
    placeholder: "FILE.jsonl",
  }),
  ...RANK_OPTIONS,
  topK: withDefault(RANK_OPTIONS.topK, passages),
  ids: option(path().optional(), {
    help: "search only the passages with these ids, one a line",
    placeholder: "FILE",
  }),
  json: JSON_LINES,
  ...HYBRID_OPTIONS,
  lambda: optionally(HYBRID_OPTIONS.lambda, "rank by the retrieval score"),
  ...ENGINE_OPTIONS,
});

type SearchValues = Resolved<ReturnType<typeof searchOptions>>;

export interface OpenSearch {
  readonly model: ReAtt;
  readonly index: TokenIndex;
  readonly questions: readonly Question[];
  readonly options: RetrieveOptions;
}

/** Opens the model and the index for the duration of `work`. */
export async function withSearch(
  values: SearchValues,
  signal: AbortSignal,
  work: (search: OpenSearch) => Promise<void>,
): Promise<void> {
  const { topK, granularity, ids } = values;
  checkHybrid(values);
  const questions = await questionsOf(values, signal);
  await using model = await ReAtt.load(values.model);
  await using index = await openToSearch(model, values.index, values, signal);
  const filter = ids === undefined ? undefined : await readFilter(index, ids);
  const hybrid = await hybridOf(values, index, signal);
  const options = { topK, granularity, filter, hybrid, signal };
  await work({ model, index, questions, options });
}

/** The id that `--question` has in JSON and in run files. */
const SINGLE_QUESTION_ID = "1";

async function questionsOf(
  { question, queries }: Pick<SearchValues, "question" | "queries">,
  signal: AbortSignal,
): Promise<readonly Question[]> {
  if (queries !== undefined && question === undefined) return readQuestions(queries, signal);
  if (question === undefined || queries !== undefined)
    throw new UsageError("one of --question TEXT and --queries FILE.jsonl is needed");
  if (question.trim() !== "") return [{ id: SINGLE_QUESTION_ID, question }];
  throw new InputError({
    where: "--question",
    expected: "a question",
    got: "no text",
    remedy: "write one",
  });
}

/** Looks up each id once. A search with a list of ids would do so for each question. */
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

function checkHybrid({ lambda, k1, b }: SearchValues): void {
  if (lambda === undefined && (k1 ?? b) !== undefined)
    throw new UsageError(`--${k1 === undefined ? "b" : "k1"} needs --lambda X`);
}

/** Builds BM25 with a progress bar. The library would build it without one. */
async function hybridOf(
  { lambda, k1 = DEFAULT_PARAMETERS.k1, b = DEFAULT_PARAMETERS.b }: SearchValues,
  index: TokenIndex,
  signal: AbortSignal,
): Promise<HybridOptions | undefined> {
  if (lambda === undefined) return undefined;
  const progress = startProgress("passages for BM25", index.passageCount);
  const options = { k1, b, signal, onProgress: progress.update };
  const lexical = await openLexicalIndex(index, options).finally(progress.stop);
  return { lexical, lambda };
}
