/** The public class: load, index, retrieve, read, answer. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  answerFromPassages,
  DEFAULT_MAX_PASSAGE_TOKENS,
  type Evidence,
  type ReadOptions,
  type Reply,
  type TokenizedQuestion,
} from "./decoder/answers.ts";
import { openReaderSession, type ReaderSession } from "./decoder/reader-session.ts";
import {
  type EncodeOptions,
  encodeOutputs,
  encodeSequences,
  openRetrieverSession,
  type RetrieverSession,
} from "./encoder/retriever-session.ts";
import { InputError } from "./io/errors.ts";
import { type ModelConfig, readConfig } from "./model/config.ts";
import { fingerprint } from "./model/fingerprint.ts";
import { loadWeights } from "./model/load-weights.ts";
import type { Bits } from "./retrieval/codec/codec.ts";
import {
  type IndexHeader,
  readManifest,
  type ShardRecord,
} from "./retrieval/index/format/manifest.ts";
import { addPassages } from "./retrieval/index/maintain/update.ts";
import {
  type BuildOptions,
  type BuildProgress,
  buildIndex,
} from "./retrieval/index/write/build.ts";
import { type BuildForecast, forecastBuild } from "./retrieval/index/write/forecast.ts";
import {
  checkKeepRatio,
  keptTokenCount,
  openTokenPruner,
  type TokenPruner,
} from "./retrieval/index/write/token-pruning.ts";
import { type OpenOptions, openIndex } from "./retrieval/open-index.ts";
import { type RankOptions, rank } from "./retrieval/rank.ts";
import type { TokenIndex } from "./retrieval/search/token-index.ts";
import type { CompileOptions, Provider } from "./tensor/session.ts";
import type { Passage } from "./text/passage.ts";
import { passageIds, passagePrompt, questionPrompt, retrievalQuestionIds } from "./text/prompts.ts";
import { loadTokenizer, type Tokenizer } from "./text/tokenizer.ts";

export interface LoadOptions {
  /** What computes. Default `cpu`. */
  readonly provider?: Provider | undefined;
  /** Threads of the cpu provider. Default: one for each physical core. */
  readonly threads?: number | undefined;
}

export interface IndexOptions extends AddOptions {
  /** Longer passages are cut. Default 512, as in the release. */
  readonly maxPassageTokens?: number | undefined;
  /**
   * The share of each passage's tokens that are indexed, from 0.25 to 1: those that receive most attention from the passage itself
   * in the retrieval head. The index is smaller by as much, and finds less. Default 1.
   */
  readonly keepRatio?: number | undefined;
  /** Bits a dimension of a compressed index. Default: none, keys stay float32 and every search is exact. */
  readonly bits?: Bits | undefined;
  /** Builds only one part of an index, float32; `mergeShards` joins the parts, and compresses the whole. */
  readonly shard?: ShardRecord | undefined;
}

export interface AddOptions {
  /** Where the index is. One that is there already is replaced, or added to, when all that is new is whole. */
  readonly directory: string;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  /** Stops the work; the same call goes on with it later. */
  readonly signal?: AbortSignal | undefined;
}

export interface RetrieveOptions extends Omit<RankOptions, "topK"> {
  /** Number of passages or documents. Default 100 for `retrieve`, 10 for `answer`. */
  readonly topK?: number | undefined;
}

/**
 * A passage found, with its score: the retrieval score, or with `hybrid` the sum of BM25 and the
 * weighted retrieval score. With granularity `document`, the best passage of a document.
 */
export interface Hit extends Passage {
  readonly score: number;
}

/** `answer` truncates passages as its index does. */
export interface AnswerOptions extends RetrieveOptions, Omit<ReadOptions, "maxPassageTokens"> {}

/** Passages that `retrieve` returns, as in the release. */
const DEFAULT_PASSAGES_RETRIEVED = 100;
/** Passages that `answer` reads, as in the release. */
const DEFAULT_PASSAGES_READ = 10;
/** Questions of a batch share a pass over the index and each step of the decoder. */
const QUESTIONS_PER_BATCH = 16;

export type { Evidence, ReadOptions, Reply };

/** A loaded model. Holds native memory: dispose of it (`await using`), and of the indexes it opened. */
export class ReAtt implements AsyncDisposable {
  /** Where the model was loaded from. */
  readonly folder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  /** Identifies everything that determines passage keys: an index serves all models of one fingerprint. */
  readonly fingerprint: string;
  readonly #encoder: RetrieverSession;
  /** `#encoder` itself, unless the model has a query encoder of its own. */
  readonly #queryEncoder: RetrieverSession;
  readonly #reader: ReaderSession;
  readonly #filter: TokenPruner;

  private constructor(
    folder: string,
    config: ModelConfig,
    tokenizer: Tokenizer,
    fingerprint: string,
    encoder: RetrieverSession,
    queryEncoder: RetrieverSession,
    reader: ReaderSession,
    filter: TokenPruner,
  ) {
    this.folder = folder;
    this.config = config;
    this.tokenizer = tokenizer;
    this.fingerprint = fingerprint;
    this.#encoder = encoder;
    this.#queryEncoder = queryEncoder;
    this.#reader = reader;
    this.#filter = filter;
  }

  /**
   * Loads a Hugging Face folder: `config.json`, `spiece.model`, and `model.safetensors` (whole or in shards) or
   * `pytorch_model.bin`. Throws `InputError` where something is missing, damaged or contradictory.
   */
  static async load(folder: string, { provider, threads }: LoadOptions = {}): Promise<ReAtt> {
    const config = await readConfig(folder);
    const tokenizerFile = join(folder, "spiece.model");
    const tokenizer = await loadTokenizer(tokenizerFile, config.vocabularySize);
    const weights = await loadWeights(folder, config);
    const options: CompileOptions = { provider, threads, weights };
    const [encoder, queryEncoder, reader, filter] = await Promise.all([
      openRetrieverSession(config, options),
      config.queryEncoder ? openRetrieverSession(config, options, "queryEncoder") : undefined,
      openReaderSession(config, options),
      openTokenPruner(config.headSize),
    ]);
    return new ReAtt(
      folder,
      config,
      tokenizer,
      fingerprint(config, weights, await readFile(tokenizerFile)),
      encoder,
      queryEncoder ?? encoder,
      reader,
      filter,
    );
  }

  /**
   * Encodes passages and writes their token keys as an index, in bounded memory. An interrupted build goes on where it
   * stopped when the same passages are given again. Throws `InputError` for duplicate ids or a disk that refuses.
   */
  async index(
    passages: AsyncIterable<Passage> | Iterable<Passage>,
    options: IndexOptions,
  ): Promise<TokenIndex> {
    await buildIndex(passages, { ...options, ...this.#keyMaker(options, options.signal) });
    return this.openIndex(options.directory);
  }

  /**
   * What `index` will need for these passages, which are all read. Throws `InputError` where the disk has too little room.
   */
  forecast(
    passages: AsyncIterable<Passage> | Iterable<Passage>,
    options: IndexOptions,
  ): Promise<BuildForecast> {
    const { header } = this.#keyMaker(options);
    const countTokens = (passage: Passage): number =>
      keptTokenCount(
        passageIds(this.tokenizer, passage, header.maxPassageTokens).length,
        header.keepTokens ?? 1,
      );
    return forecastBuild(passages, { ...options, header, countTokens });
  }

  /**
   * Adds passages to an index of this model; one whose id is there already takes the place of the old one. Indexes that
   * are open stay as they are; what is returned has the change. Throws `InputError` as `index` does.
   */
  async add(
    passages: AsyncIterable<Passage> | Iterable<Passage>,
    options: AddOptions,
  ): Promise<TokenIndex> {
    const { maxPassageTokens, keepTokens } = (await readManifest(options.directory)).header;
    const keys = this.#keyMaker({ maxPassageTokens, keepRatio: keepTokens }, options.signal);
    await addPassages(passages, { ...options, ...keys });
    return this.openIndex(options.directory);
  }

  /** How this model makes keys of passages, and what an index says of that. */
  #keyMaker(
    {
      maxPassageTokens = DEFAULT_MAX_PASSAGE_TOKENS,
      keepRatio = 1,
    }: Pick<IndexOptions, "maxPassageTokens" | "keepRatio">,
    signal?: AbortSignal,
  ): Pick<BuildOptions, "header" | "encode"> {
    checkKeepRatio(keepRatio);
    const header: IndexHeader = {
      fingerprint: this.fingerprint,
      dimension: this.config.headSize,
      maxPassageTokens,
      ...(keepRatio < 1 && { keepTokens: keepRatio }), // the name on disk
      prompts: {
        question: questionPrompt("{question}"),
        passage: passagePrompt({ title: "{title}", text: "{text}" }),
      },
    };
    const encode: BuildOptions["encode"] = (window, onProgress) => {
      const ids = window.map((passage) => passageIds(this.tokenizer, passage, maxPassageTokens));
      if (keepRatio === 1)
        return encodeSequences(this.#encoder, this.config, ids, "keys", { onProgress, signal });
      return this.#encodeFiltered(ids, keepRatio, { onProgress, signal });
    };
    return { header, encode };
  }

  /** Opens an index that this model can search. Throws `InputError` where another model made it or it is damaged. */
  openIndex(directory: string, options?: Omit<OpenOptions, "fingerprint">): Promise<TokenIndex> {
    return openIndex(directory, { ...options, fingerprint: this.fingerprint });
  }

  /** The vectors by which an index is searched: [tokens, headSize] for each question. */
  encodeQuestions(
    questions: readonly string[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Float32Array[]> {
    return this.#encodeQuestions(this.#tokenize(questions), signal);
  }

  /** The best passages (or documents) for a question, or for each of many, best first. */
  retrieve(question: string, index: TokenIndex, options?: RetrieveOptions): Promise<Hit[]>;
  retrieve(
    questions: readonly string[],
    index: TokenIndex,
    options?: RetrieveOptions,
  ): Promise<Hit[][]>;
  async retrieve(
    question: string | readonly string[],
    index: TokenIndex,
    options: RetrieveOptions = {},
  ): Promise<Hit[] | Hit[][]> {
    if (typeof question === "string") return (await this.retrieve([question], index, options))[0]!;
    const { topK = DEFAULT_PASSAGES_RETRIEVED } = options;
    return this.#retrieve(this.#tokenize(question), index, { ...options, topK });
  }

  /**
   * Reads the answer to a question from passages, or the answer to each of many from its own. Every
   * passage keeps the properties that it was given with, such as a score.
   */
  read<P extends Passage>(
    question: string,
    passages: readonly P[],
    options?: ReadOptions,
  ): Promise<Reply<P>>;
  read<P extends Passage>(
    questions: readonly string[],
    passages: readonly (readonly P[])[],
    options?: ReadOptions,
  ): AsyncGenerator<Reply<P>, void>;
  read<P extends Passage>(
    question: string | readonly string[],
    passages: readonly P[] | readonly (readonly P[])[],
    options: ReadOptions = {},
  ): Promise<Reply<P>> | AsyncGenerator<Reply<P>, void> {
    if (typeof question === "string")
      return onlyReply(this.read([question], [passages as readonly P[]], options));
    const lists = passages as readonly (readonly P[])[];
    checkOneListEach(question, lists);
    const find = async (batch: readonly TokenizedQuestion[], first: number) =>
      lists.slice(first, first + batch.length);
    return this.#reply(question, find, options);
  }

  /**
   * Retrieves passages for a question and reads the answer from them: `retrieve`, then `read`. For
   * many questions, the replies come one after the other, in the order of the questions.
   */
  answer(question: string, index: TokenIndex, options?: AnswerOptions): Promise<Reply<Hit>>;
  answer(
    questions: readonly string[],
    index: TokenIndex,
    options?: AnswerOptions,
  ): AsyncGenerator<Reply<Hit>, void>;
  answer(
    question: string | readonly string[],
    index: TokenIndex,
    options: AnswerOptions = {},
  ): Promise<Reply<Hit>> | AsyncGenerator<Reply<Hit>, void> {
    if (typeof question === "string") return onlyReply(this.answer([question], index, options));
    const { topK = DEFAULT_PASSAGES_READ } = options;
    const { maxPassageTokens } = index.header;
    const find = (batch: readonly TokenizedQuestion[]) =>
      this.#retrieve(batch, index, { ...options, topK });
    return this.#reply(question, find, { ...options, maxPassageTokens });
  }

  /** Tokenizes each question once, finds its passages and reads them, batch by batch. */
  async *#reply<P extends Passage>(
    texts: readonly string[],
    find: (batch: readonly TokenizedQuestion[], first: number) => Promise<(readonly P[])[]>,
    options: ReadOptions,
  ): AsyncGenerator<Reply<P>, void> {
    const { onText } = options;
    for (let first = 0; first < texts.length; first += QUESTIONS_PER_BATCH) {
      const start = performance.now();
      const batch = this.#tokenize(texts.slice(first, first + QUESTIONS_PER_BATCH));
      const passages = await find(batch, first);
      const found = performance.now();
      const replies = await answerFromPassages(this.#readingModel, batch, passages, {
        ...options,
        onText: onText && ((text, row) => onText(text, first + row)),
      });
      const times = {
        retrieve: (found - start) / batch.length,
        read: (performance.now() - found) / batch.length,
      };
      for (const reply of replies) yield { ...reply, times };
    }
  }

  get #readingModel() {
    const { config, tokenizer } = this;
    return { config, tokenizer, encoder: this.#encoder, reader: this.#reader };
  }

  #tokenize(questions: readonly string[]): TokenizedQuestion[] {
    return questions.map((text) => ({ text, ids: retrievalQuestionIds(this.tokenizer, text) }));
  }

  #encodeQuestions(
    questions: readonly TokenizedQuestion[],
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const ids = questions.map((question) => question.ids);
    return encodeSequences(this.#queryEncoder, this.config, ids, "queries", { signal });
  }

  async #retrieve(
    questions: readonly TokenizedQuestion[],
    index: TokenIndex,
    options: RankOptions,
  ): Promise<Hit[][]> {
    const vectors = await this.#encodeQuestions(questions, options.signal);
    const asked = questions.map(({ text }, i) => ({ text, vectors: vectors[i]! }));
    const found = await rank(index, asked, options);
    return Promise.all(
      found.map(async (hits) => {
        const passages = await index.passages(hits.map(({ ordinal }) => ordinal));
        return hits.map(({ score }, i) => ({ ...passages[i]!, score }));
      }),
    );
  }

  async #encodeFiltered(
    sequences: readonly (readonly number[])[],
    share: number,
    options: EncodeOptions,
  ): Promise<Float32Array[]> {
    const outputs = ["queries", "keys"] as const;
    const { queries, keys } = await encodeOutputs(
      this.#encoder,
      this.config,
      sequences,
      outputs,
      options,
    );
    const kept: Float32Array[] = [];
    for (const [i, all] of keys.entries())
      kept.push(await this.#filter.prune(queries[i]!, all, share));
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sessions = new Set([this.#encoder, this.#queryEncoder, this.#reader, this.#filter]);
    await Promise.all(Array.from(sessions, (session) => session[Symbol.asyncDispose]()));
  }
}

async function onlyReply<R>(replies: AsyncGenerator<R, void>): Promise<R> {
  return (await replies.next()).value!;
}

function checkOneListEach(questions: readonly string[], lists: readonly unknown[]): void {
  if (lists.length === questions.length) return;
  throw new InputError({
    where: "passages",
    expected: `one list for each of ${questions.length} questions`,
    got: `${lists.length}`,
    remedy: "give every question its own passages",
  });
}
