/** What `retrieve` and `answer` share: questions, an open index, and the options of retrieval. */

import type { z } from "zod";
import { InputError } from "../../io/errors.ts";
import {
  flag,
  infoOf,
  option,
  optionally,
  path,
  type Resolved,
  text,
  valuesOf,
} from "../../options/option.ts";
import { HYBRID_OPTIONS, LANGUAGE } from "../../options/search-request.ts";
import type { ANSWER } from "../../reatt/options.ts";
import type { ReAtt, RetrieveOptions } from "../../reatt.ts";
import { DEFAULT_PARAMETERS } from "../../retrieval/bm25/bm25.ts";
import { chooseHybrid, type HybridOptions } from "../../retrieval/hybrid.ts";
import { openLexicalIndex } from "../../retrieval/lexical-index.ts";
import { RETRIEVE_OPTIONS } from "../../retrieval/rank.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Language } from "../../text/languages.ts";
import { type Question, readQuestions } from "../../text/read-passages.ts";
import { plain } from "../output/plain.ts";
import { type Progress, startProgress } from "../output/progress.ts";
import { ENGINE_OPTIONS, type EngineValues, LINK_OPTION, openToSearch } from "./engine.ts";
import { INDEXES, JSON_LINES, MODEL_OF_INDEX, readIds, STORE } from "./file-options.ts";
import { loadModelFor } from "./load-model.ts";
import { UsageError } from "./usage-error.ts";

/** A build of BM25 that takes less time shows no progress. */
const SHOW_AFTER_MS = 1_000;

const { filter, hybrid, signal, ...FLAGS } = RETRIEVE_OPTIONS;

/** The options of a search that are flags as they are. Others of the command make these three. */
export const SEARCH = FLAGS;

/** @param topK the option `--top-k` with its default */
export const searchOptions = <TopK extends z.ZodType>(topK: TopK) => ({
  model: MODEL_OF_INDEX,
  index: INDEXES,
  store: STORE,
  question: option(text().optional(), { help: "the question", placeholder: "TEXT", own: true }),
  queries: option(path().optional(), {
    help: 'questions, one a line: {"_id","text"} or {"id","question"}',
    placeholder: "FILE.jsonl",
    own: true,
  }),
  ...SEARCH,
  topK,
  ids: option(path().optional(), {
    help: "search only the passages with these ids, one a line",
    placeholder: "FILE",
    own: true,
  }),
  json: JSON_LINES,
  hybrid: option(flag().optional(), infoOf(hybrid)),
  lambda: optionally(HYBRID_OPTIONS.lambda, "the weight that the model stores, with --hybrid"),
  k1: optionally(HYBRID_OPTIONS.k1, `that of the model, with --lambda ${DEFAULT_PARAMETERS.k1}`),
  b: optionally(HYBRID_OPTIONS.b, `that of the model, with --lambda ${DEFAULT_PARAMETERS.b}`),
  ...LANGUAGE,
  ...LINK_OPTION,
  ...ENGINE_OPTIONS,
});

/** What the documents are about. A collection has it. */
export const DESCRIPTION = option(text().optional(), {
  help: "what the documents are about; a part of each result of --json",
  flag: false,
});

/** The question without an option: `reatt answer --index index "Where is Normandy?"`. */
export const QUESTION = { placeholder: "QUESTION...", help: "the question, as with --question" };

/** @throws {UsageError} for a question with the option and another without it */
export function questionOf(
  { question }: { readonly question?: string | undefined },
  words: readonly string[],
): string | undefined {
  if (words.length === 0) return question;
  if (question !== undefined) throw new UsageError("one question is needed: leave --question out");
  return words.join(" ");
}

type Values = Resolved<ReturnType<typeof searchOptions<typeof ANSWER.topK>>>;

/** A command can be without some of the options. */
type SearchValues = EngineValues & Pick<Values, "model" | "index"> & Partial<Values>;

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
  checkHybrid(values);
  const questions = await questionsOf(values, signal);
  await using model = await loadModelFor(values.index, values.model, signal);
  const weights = weightsOf(values, model);
  await using index = await openToSearch(model, values.index, values, signal);
  const filter = values.ids === undefined ? undefined : await readFilter(index, values.ids);
  const hybrid =
    weights === undefined ? false : await withLexical(weights, index, values.language, signal);
  const options = { ...valuesOf(SEARCH, values), filter, hybrid, signal };
  await work({ model, index, questions, options });
}

/** Questions of a command that could not be read. Each of several is named on stderr. */
export class UnreadableQuestions {
  readonly #questions: number;
  #count = 0;

  /** @param questions of the command */
  constructor(questions: number) {
    this.#questions = questions;
  }

  /** The results without those of such questions. */
  async *leftOut<
    Result extends { readonly question: Question; readonly error?: InputError | undefined },
  >(results: AsyncIterable<Result>): AsyncGenerator<Result, void> {
    for await (const result of results) {
      if (result.error) this.report(result.question, result.error);
      else yield result;
    }
  }

  /** @throws the error of the only question */
  report({ id }: Question, error: InputError): void {
    if (this.#questions === 1) throw error;
    this.#count++;
    process.stderr.write(`${plain(`question ${id}: ${error.message}`)}\n`);
  }

  /** @throws {InputError} if there are such questions, so that the command ends with 1 */
  check(): void {
    if (this.#count === 0) return;
    throw new InputError({
      where: "questions",
      expected: "questions that the model can read",
      got: `${this.#count} of ${this.#questions} that it cannot`,
      remedy: "see the lines about them",
    });
  }
}

/** The id that `--question` has in JSON and in run files. */
const SINGLE_QUESTION_ID = "1";

async function questionsOf(
  { question, queries }: Pick<SearchValues, "question" | "queries">,
  signal: AbortSignal,
): Promise<readonly Question[]> {
  if (queries !== undefined && question === undefined) return readQuestions(queries, signal);
  if (question === undefined || queries !== undefined)
    throw new UsageError("one of QUESTION and --queries FILE.jsonl is needed");
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
  for (const id of await readIds(file))
    for (const { collection } of index.indexes) {
      const ordinal = await index.find(id, collection);
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

function checkHybrid({ hybrid, lambda, k1, b }: SearchValues): void {
  const given = Object.entries({ lambda, k1, b }).find(([, value]) => value !== undefined);
  if (hybrid === false && given) throw new UsageError(`--${given[0]} with --no-hybrid`);
}

/**
 * The weights of the options, or those that the model stores.
 *
 * @returns undefined if the model ranks alone
 * @throws {UsageError} for `--k1` and `--b` without hybrid search
 */
function weightsOf(
  { hybrid, lambda, k1, b }: SearchValues,
  { config, folder }: ReAtt,
): HybridOptions | undefined {
  if (lambda !== undefined) return { lambda, k1, b };
  const stored = chooseHybrid(hybrid, config.hybrid, folder);
  if (stored) return { lambda: stored.lambda, k1: k1 ?? stored.k1, b: b ?? stored.b };
  if ((k1 ?? b) === undefined) return undefined;
  throw new UsageError(`--${k1 === undefined ? "b" : "k1"} needs --lambda X or --hybrid`);
}

/**
 * Makes BM25 of the passages with a progress bar if it takes long, where the index has no words of
 * this language. The library would make it without one.
 */
async function withLexical(
  { lambda, k1 = DEFAULT_PARAMETERS.k1, b = DEFAULT_PARAMETERS.b }: HybridOptions,
  index: TokenIndex,
  language: Language | undefined,
  signal: AbortSignal,
): Promise<HybridOptions> {
  const words = await index.words();
  const isOther = language !== undefined && language !== words?.analyser.languages[0];
  if (index.isRemote || (words && !isOther)) return { lambda, k1, b };
  const started = performance.now();
  let progress: Progress | undefined;
  const onProgress = (passages: number): void => {
    if (progress) progress.update(passages);
    else if (performance.now() - started > SHOW_AFTER_MS) {
      progress = startProgress("passages for BM25", index.passageCount);
      progress.resume(passages);
    }
  };
  const options = { k1, b, language, signal, onProgress };
  const lexical = await openLexicalIndex(index, options).finally(() => progress?.stop());
  return { lexical, lambda };
}
