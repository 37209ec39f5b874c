/** The model as its users see it: load, index, retrieve, answer. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Reading, read } from "./decoder/reader.ts";
import { openReader, type ReaderSession } from "./decoder/reader-session.ts";
import {
  type EncodeOptions,
  type EncoderSession,
  encodeOutputs,
  encodeSequences,
  openEncoder,
} from "./encoder/lower-session.ts";
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
import { findAnswerSpan, type Span } from "./text/answer-span.ts";
import type { Passage } from "./text/passage.ts";
import {
  cutForReading,
  passageIds,
  passagePrompt,
  questionPrompt,
  readingQuestionIds,
  retrievalQuestionIds,
} from "./text/prompts.ts";
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
  readonly keepTokens?: number | undefined;
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
  /** How many passages, or documents. Default 100, as in the release. */
  readonly topK?: number | undefined;
}

/**
 * A passage found, with its retrieval score: the average over question tokens of the best passage token, or that and BM25's
 * where both are asked for. Where documents are asked for, the best passage of one.
 */
export interface Hit extends Passage {
  readonly score: number;
}

export interface AnswerOptions {
  /** How many passages are read. Default 10, as in the release. */
  readonly topK?: number | undefined;
  /** Default 1: greedy search. */
  readonly beams?: number | undefined;
  /** Default 50, as in the paper. */
  readonly maxAnswerTokens?: number | undefined;
  /** Cuts question and passage together, as the release does. Default: a passage is read as it was indexed. */
  readonly maxInputTokens?: number | undefined;
  /** Exponent of the length by which a beam's log probability is divided. Default 1. */
  readonly lengthPenalty?: number | undefined;
  /** Whether a search ends as soon as `beams` answers are complete. Default true. */
  readonly earlyStopping?: boolean | undefined;
  /** A reply of less confidence abstains. Default 0: never. */
  readonly minimumConfidence?: number | undefined;
  /** Called with the answer's text as it grows; with several beams, once it is chosen. */
  readonly onText?: ((text: string, question: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A passage that was read. */
export interface Evidence extends Hit {
  /** The share of the decoder's attention that went to this passage; the shares of a reply sum to 1. */
  readonly attention: number;
  /** Where the answer stands in `text`, if it does. */
  readonly span?: Span | undefined;
}

export interface Reply {
  /** Empty when `abstained`. */
  readonly answer: string;
  /** Without the start token; with `</s>` if it was written. */
  readonly tokenIds: readonly number[];
  /** Geometric mean of the probabilities of the tokens. */
  readonly confidence: number;
  readonly abstained: boolean;
  /** What was read, best score first. */
  readonly passages: readonly Evidence[];
  /** Milliseconds for the questions that were answered together with this one, divided by their number. */
  readonly times: { readonly retrieve: number; readonly read: number };
}

/** Questions answered together: their searches share a pass over the index, and their answers each step of the decoder. */
const QUESTIONS_PER_BATCH = 16;

/** A loaded model. Holds native memory: dispose of it (`await using`), and of the indexes it opened. */
export class ReAtt implements AsyncDisposable {
  /** Where the model was loaded from. */
  readonly folder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  /** Identifies everything that determines passage keys: an index serves all models of one fingerprint. */
  readonly fingerprint: string;
  readonly #encoder: EncoderSession;
  /** `#encoder` itself, unless the model has a query encoder of its own. */
  readonly #queryEncoder: EncoderSession;
  readonly #reader: ReaderSession;
  readonly #filter: TokenPruner;

  private constructor(
    folder: string,
    config: ModelConfig,
    tokenizer: Tokenizer,
    fingerprint: string,
    encoder: EncoderSession,
    queryEncoder: EncoderSession,
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
      openEncoder(config, options),
      config.queryEncoder ? openEncoder(config, options, "query") : undefined,
      openReader(config, options),
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
    const { header } = await readManifest(options.directory);
    await addPassages(passages, { ...options, ...this.#keyMaker(header, options.signal) });
    return this.openIndex(options.directory);
  }

  /** How this model makes keys of passages, and what an index says of that. */
  #keyMaker(
    {
      maxPassageTokens = 512,
      keepTokens = 1,
    }: Pick<IndexOptions, "maxPassageTokens" | "keepTokens">,
    signal?: AbortSignal,
  ): Pick<BuildOptions, "header" | "encode"> {
    checkKeepRatio(keepTokens);
    const header: IndexHeader = {
      fingerprint: this.fingerprint,
      dimension: this.config.headSize,
      maxPassageTokens,
      ...(keepTokens < 1 && { keepTokens }),
      prompts: {
        question: questionPrompt("{question}"),
        passage: passagePrompt({ title: "{title}", text: "{text}" }),
      },
    };
    const encode: BuildOptions["encode"] = (window, onProgress) => {
      const ids = window.map((passage) => passageIds(this.tokenizer, passage, maxPassageTokens));
      if (keepTokens === 1)
        return encodeSequences(this.#encoder, this.config, ids, "keys", { onProgress, signal });
      return this.#encodeFiltered(ids, keepTokens, { onProgress, signal });
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
    const ids = questions.map((text) => retrievalQuestionIds(this.tokenizer, text));
    return encodeSequences(this.#queryEncoder, this.config, ids, "queries", { signal });
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
    { topK = 100, ...options }: RetrieveOptions = {},
  ): Promise<Hit[] | Hit[][]> {
    if (typeof question === "string")
      return (await this.retrieve([question], index, { topK, ...options }))[0]!;
    const vectors = await this.encodeQuestions(question, options);
    const questions = question.map((text, i) => ({ text, vectors: vectors[i]! }));
    const found = await rank(index, questions, { topK, ...options });
    return Promise.all(
      found.map(async (hits) => {
        const passages = await index.passages(hits.map(({ ordinal }) => ordinal));
        return hits.map(({ score }, i) => ({ ...passages[i]!, score }));
      }),
    );
  }

  /**
   * Retrieves passages for a question and reads the answer from them; for many questions, one reply after the other, in
   * their order.
   */
  answer(question: string, index: TokenIndex, options?: AnswerOptions): Promise<Reply>;
  answer(
    questions: readonly string[],
    index: TokenIndex,
    options?: AnswerOptions,
  ): AsyncGenerator<Reply, void>;
  answer(
    question: string | readonly string[],
    index: TokenIndex,
    options: AnswerOptions = {},
  ): Promise<Reply> | AsyncGenerator<Reply, void> {
    if (typeof question !== "string") return this.#answerAll(question, index, options);
    return this.#answerTogether([question], index, options, 0).then(([reply]) => reply!);
  }

  async *#answerAll(
    questions: readonly string[],
    index: TokenIndex,
    options: AnswerOptions,
  ): AsyncGenerator<Reply, void> {
    for (let first = 0; first < questions.length; first += QUESTIONS_PER_BATCH) {
      const together = questions.slice(first, first + QUESTIONS_PER_BATCH);
      yield* await this.#answerTogether(together, index, options, first);
    }
  }

  async #answerTogether(
    questions: readonly string[],
    index: TokenIndex,
    options: AnswerOptions,
    first: number,
  ): Promise<Reply[]> {
    const start = performance.now();
    const found = await this.retrieve(questions, index, {
      topK: options.topK ?? 10,
      signal: options.signal,
    });
    const retrieved = performance.now();
    const inputs = questions.map((question, i) =>
      this.#readingInput(question, found[i]!, index, options.maxInputTokens),
    );
    const readings = await read(this.config, this.#encoder, this.#reader, inputs, {
      ...options,
      maxTokens: options.maxAnswerTokens,
      onToken: options.onText && this.#streamText(options.onText, first),
    });
    const times = {
      retrieve: (retrieved - start) / questions.length,
      read: (performance.now() - retrieved) / questions.length,
    };
    return readings.map((reading, i) => ({
      ...this.#reply(reading, found[i]!, options.minimumConfidence ?? 0),
      times,
    }));
  }

  #readingInput(
    question: string,
    hits: readonly Hit[],
    index: TokenIndex,
    maxInputTokens: number | undefined,
  ) {
    const ids = readingQuestionIds(retrievalQuestionIds(this.tokenizer, question));
    const passages = hits.map((hit) =>
      passageIds(this.tokenizer, hit, index.header.maxPassageTokens),
    );
    if (maxInputTokens === undefined) return { question: ids, passages };
    const cut = passages.map((passage) => cutForReading(ids, passage, maxInputTokens));
    return { question: cut[0]!.question, passages: cut.map(({ passage }) => passage) };
  }

  #reply(reading: Reading, hits: readonly Hit[], minimumConfidence: number): Omit<Reply, "times"> {
    const { tokenIds, logProbabilities, attention } = reading;
    const answer = this.tokenizer.decode(tokenIds);
    const confidence = Math.exp(
      logProbabilities.reduce((sum, p) => sum + p, 0) / logProbabilities.length,
    );
    const abstained = confidence < minimumConfidence;
    const passages = hits.map((hit, i) => ({
      ...hit,
      attention: attention[i]!,
      span: abstained ? undefined : findAnswerSpan(answer, hit.text),
    }));
    return { answer: abstained ? "" : answer, tokenIds, confidence, abstained, passages };
  }

  /** Tokens to text as it grows: a piece may change how the ones before it are written. */
  #streamText(onText: NonNullable<AnswerOptions["onText"]>, first: number) {
    const written = new Map<number, number[]>();
    return (token: number, row: number): void => {
      const ids = written.get(row) ?? [];
      const before = this.tokenizer.decode(ids);
      ids.push(token);
      written.set(row, ids);
      const text = this.tokenizer.decode(ids).slice(before.length);
      if (text) onText(text, first + row);
    };
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
