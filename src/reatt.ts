/**
 * The public class: one T5 model that indexes, retrieves and reads.
 *
 * Source: Jiang et al. 2022, Retrieval as Attention: End-to-end Learning of Retrieval and Reading
 * within a Single Transformer ("ReAtt").
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type AnsweringModel,
  abstention,
  answerFromPassages,
  type Evidence,
  type PassageToRead,
  READ_OPTIONS,
  type ReadOptions,
  type Reply,
  type ResolvedReadOptions,
  type TokenizedQuestion,
  type ToRead,
} from "./decoder/answers.ts";
import { openReaderSession, type ReaderSession } from "./decoder/reader-session.ts";
import {
  retrievalUtilities,
  UTILITY_OPTIONS,
  type UtilityOptions,
} from "./decoder/retrieval-utility.ts";
import type { Retriever } from "./encoder/open-retriever.ts";
import { openRetriever } from "./encoder/open-retriever.ts";
import { type IndexedTokens, indexedTokens } from "./encoder/passage-keys.ts";
import { encodeSequences } from "./encoder/retriever-session.ts";
import { StateCache } from "./encoder/state-cache.ts";
import type { DownloadProgress } from "./hub/download.ts";
import { locateModel } from "./hub/locate-model.ts";
import { InputError } from "./io/errors.ts";
import { excerpt } from "./io/excerpt.ts";
import { Lifetime } from "./io/lifetime.ts";
import type { ModelConfig } from "./model/config.ts";
import { readConfig } from "./model/config-file.ts";
import { statesFingerprint } from "./model/fingerprint.ts";
import { findWeights, openStored } from "./model/load-weights.ts";
import {
  checkedPassages,
  checkOpenIndex,
  checkPassageList,
  checkPassageLists,
  checkPath,
  checkQuestion,
  checkQuestionList,
  checkQuestions,
  checkTexts,
} from "./options/arguments.ts";
import {
  ANSWER_OPTIONS,
  INDEX_OPTIONS,
  LOAD_OPTIONS,
  PASSAGES_READ,
} from "./options/library-options.ts";
import { callback, type Given, type Resolved, SIGNAL } from "./options/option.ts";
import { resolveOptions } from "./options/resolve.ts";
import {
  ADD,
  type AddOptions,
  INDEX,
  type IndexOptions,
  SYNC,
  type SyncOptions,
} from "./reatt/indexing-options.ts";
import {
  encodeQuestions,
  type LoadedModel,
  passageKeyModel,
  scorePassages,
  tokenize,
} from "./reatt/loaded-model.ts";
import { type Explanation, explanationOf } from "./retrieval/explain.ts";
import { chooseHybrid, type HybridOptions } from "./retrieval/hybrid.ts";
import type { IndexHeader } from "./retrieval/index/format/manifest.ts";
import type { BuildForecast } from "./retrieval/index/write/forecast.ts";
import { chooserOf } from "./retrieval/index/write/token-pruning.ts";
import { type OpenOptions, openIndex } from "./retrieval/open-index.ts";
import {
  type FoundPassage,
  type RankOptions,
  type RankRequest,
  RETRIEVE_OPTIONS,
  rank,
} from "./retrieval/rank.ts";
import type { IndexGeneration } from "./retrieval/search/generation.ts";
import type { TokenIndex } from "./retrieval/search/token-index.ts";
import {
  PHRASE_OPTIONS,
  type PhraseRequest,
  type PhraseSearchOptions,
  searchPhrases,
} from "./retrieval/search-phrases.ts";
import { checkModel, type SearchingModel } from "./retrieval/searching-model.ts";
import type { SyncResult } from "./sync/sync.ts";
import type { CompileOptions } from "./tensor/session.ts";
import type { Passage, PassageInput } from "./text/passage.ts";
import { tokensOver } from "./text/prompts.ts";
import type { Span } from "./text/span.ts";
import { textPlaces } from "./text/token-places.ts";
import { loadTokenizer, type Tokenizer } from "./text/tokenizer.ts";

export type { AddOptions, Evidence, IndexOptions, ReadOptions, Reply, SyncOptions, UtilityOptions };

/** Options of `load`. */
const LOAD = {
  ...LOAD_OPTIONS,
  /** Reports the download of a model of the Hugging Face hub. */
  onProgress: callback<(progress: DownloadProgress) => void>(),
  /** Stops a download. The same call continues it later. */
  ...SIGNAL,
};

export interface LoadOptions extends Given<typeof LOAD> {}

export interface RetrieveOptions extends RankOptions {}

/** Options of `rerank`. */
const RERANK = {
  /** Number of passages. Default: all. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().optional(),
  /** Longer passages are truncated. Default 512, as in an index. */
  maxPassageTokens: INDEX_OPTIONS.maxPassageTokens,
  ...SIGNAL,
};

export interface RerankOptions extends Given<typeof RERANK> {}

/** Options of `answer`. It truncates passages as the index does. */
const ANSWER = {
  ...RETRIEVE_OPTIONS,
  /** Number of passages to read. Default: that of the model (`answer_passages`), else 10. */
  topK: RETRIEVE_OPTIONS.topK.unwrap().optional(),
  ...ANSWER_OPTIONS,
  onText: READ_OPTIONS.onText,
};

/** All options of `retrieve` and of `read`. `answer` truncates passages as the index does. */
export interface AnswerOptions extends Given<typeof ANSWER> {}

/**
 * A retrieved passage. With granularity `document` it is the best passage of the document. `score`
 * is the retrieval score. With `hybrid` it is the BM25 score divided by the number of terms of the
 * question, plus lambda times the retrieval score.
 */
export interface Hit extends Passage {
  readonly score: number;
}

/** What `rerank` adds to a passage. */
export interface Reranked {
  /** The retrieval score. */
  readonly score: number;
  /** The number of its last tokens that were not compared; absent if none. */
  readonly cutTokens?: number | undefined;
}

export interface PhraseOptions extends PhraseSearchOptions {}

/** A phrase that answers a question, with its passage. `score` is that of the phrase. */
export interface Phrase extends Hit {
  /** The characters of `span` in `text`. */
  readonly answer: string;
  readonly span: Span;
}

/** Questions of a batch share a pass over the index and each step of the decoder. */
const QUESTIONS_PER_BATCH = 16;

/**
 * A loaded model. It holds native memory: declare it with `await using`, and the indexes that it
 * opens too.
 */
export class ReAtt implements AsyncDisposable {
  /** The folder that the model was loaded from. */
  readonly folder: string;
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  /**
   * SHA-256 of everything that determines the keys of passages, as 64 hexadecimal digits. A model
   * can search the indexes that were built with its fingerprint.
   */
  readonly fingerprint: string;
  readonly #model: LoadedModel;
  readonly #openReader: () => Promise<ReaderSession>;
  /** Opened at the first reading: the reader has most of the weights. */
  #reader: Promise<ReaderSession> | undefined;
  /** For passages that several questions find. */
  readonly #states = new StateCache();
  readonly #lifetime: Lifetime;

  private constructor(
    folder: string,
    config: ModelConfig,
    tokenizer: Tokenizer,
    retriever: Retriever,
    openReader: () => Promise<ReaderSession>,
  ) {
    if (!retriever) throw notLoaded();
    this.folder = folder;
    this.config = config;
    this.tokenizer = tokenizer;
    this.fingerprint = retriever.fingerprint;
    const { fingerprint } = retriever;
    const { pooling } = config.retrievalAttention;
    const searching = {
      fingerprint,
      pooling,
      statesFingerprint: statesFingerprint(config, fingerprint),
    };
    this.#model = { folder, config, tokenizer, retriever, searching };
    this.#openReader = openReader;
    this.#lifetime = new Lifetime(`the model ${folder}`, "load it again");
  }

  /**
   * Loads a model. `model` is
   *
   * - nothing, for the model that is part of this package,
   * - a folder in the format of Hugging Face: `config.json`, `spiece.model`, and the weights as
   *   `model.safetensors` (one file or shards) or `pytorch_model.bin`,
   * - the name of a T5 model on the Hugging Face hub, `ORG/NAME` or `ORG/NAME@REVISION`, unless
   *   there is a folder of that name. It is downloaded once, into the cache that other programs
   *   share. The environment variables of the hub's Python library apply: `HF_HOME`,
   *   `HF_HUB_CACHE`, `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE`.
   *
   * @throws {InputError} if a file is missing or damaged, if the files contradict each other, or if
   * the hub has no such model or cannot be reached.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load();
   * console.log(model.config.shared[0]?.layers, model.config.retrievalAttention.heads); // 3 2
   * ```
   *
   * @example
   * ```ts no-run
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load("neulab/reatt-large-nq", {
   *   onProgress: (progress) => {
   *     if (progress.event === "downloading") console.log(progress.bytes, "of", progress.total);
   *   },
   * });
   * console.log(model.config.joint.length);
   * ```
   */
  static async load(model?: string, given?: LoadOptions): Promise<ReAtt> {
    if (model !== undefined) checkPath(model, "model");
    const { provider, threads, onProgress, signal } = resolveOptions(LOAD, given);
    const folder = await locateModel(model, { onProgress, signal });
    const config = await readConfig(folder);
    const tokenizerFile = join(folder, "spiece.model");
    const tokenizer = await loadTokenizer(tokenizerFile, config.vocabularySize);
    await using stored = await openStored(folder, config);
    const weights = await findWeights(stored, config);
    const options: CompileOptions = { provider, threads, weights };
    const retriever = await openRetriever(config, stored, await readFile(tokenizerFile), options);
    return new ReAtt(folder, config, tokenizer, retriever, async () => {
      await stored.checkUnchanged();
      return openReaderSession(config, options);
    });
  }

  /**
   * Builds an index: encodes passages and stores one key of `vectorSize` values for each token, or
   * with pooling one for each passage. Memory does not grow with the number of passages, except for
   * 24 bytes for each. An index that exists in `directory` is replaced only with `replace`, when
   * the new one is complete. An interrupted build continues when the same call is made again with
   * the same passages.
   *
   * @throws {InputError} if there is an index and no `replace`, an id occurs twice, there are no
   * passages, an option is out of range, the disk is full or another process writes the index. The
   * index in `directory` then stays as it was.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { type Passage, ReAtt, readPassages } from "reatt";
   *
   * async function* first(count: number): AsyncGenerator<Passage> {
   *   for await (const passage of readPassages("data/squad/corpus.jsonl")) {
   *     yield passage;
   *     if (--count === 0) return;
   *   }
   * }
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using index = await model.index(first(20), { directory });
   * console.log(index.passageCount); // 20
   * ```
   */
  async index(
    passages: AsyncIterable<PassageInput> | Iterable<PassageInput>,
    given: IndexOptions,
  ): Promise<TokenIndex> {
    const options = resolveOptions(INDEX, given);
    const checked = checkedPassages(passages);
    return this.#lifetime.use(async () => {
      const { build } = await import("./reatt/indexing.ts");
      await build(this.#model, checked, options);
      return openIndex(options.directory, {}, this.#model.searching);
    });
  }

  /**
   * Estimates what `index` needs for these passages: tokens, bytes on disk and bytes during the
   * build. It reads all passages and tokenizes one in 16.
   *
   * @throws {InputError} if there is an index and no `replace`, the disk has too little space, or
   * an option is out of range.
   *
   * @example
   * ```ts
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt, readPassages } from "reatt";
   *
   * await using model = await ReAtt.load("models/reatt-mini");
   * const forecast = await model.forecast(readPassages("data/squad/corpus.jsonl"), {
   *   directory: join(tmpdir(), "reatt-squad"),
   *   bits: 2,
   * });
   * console.log(forecast.passages); // 2067
   * ```
   */
  async forecast(
    passages: AsyncIterable<PassageInput> | Iterable<PassageInput>,
    given: IndexOptions,
  ): Promise<BuildForecast> {
    const options = resolveOptions(INDEX, given);
    this.#lifetime.check();
    const { forecast } = await import("./reatt/indexing.ts");
    return forecast(this.#model, checkedPassages(passages), options);
  }

  /**
   * Adds passages to an index of this model, with the options that it was built with. A passage
   * whose id is in the index replaces the old one. Open indexes do not change; the returned index
   * contains the new passages.
   *
   * @throws {InputError} as `index` does, and if `directory` has no index or one of another model.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * const lion = { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." };
   * const cat = { id: "cat", title: "Cat", text: "Cats purr and sleep up to twenty hours a day." };
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using before = await model.index([lion], { directory });
   * await using after = await model.add([cat], { directory });
   * console.log(before.passageCount, after.passageCount); // 1 2
   * ```
   */
  async add(
    passages: AsyncIterable<PassageInput> | Iterable<PassageInput>,
    given: AddOptions,
  ): Promise<TokenIndex> {
    const options = resolveOptions(ADD, given);
    const checked = checkedPassages(passages);
    return this.#lifetime.use(async () => {
      const { add } = await import("./reatt/indexing.ts");
      await add(this.#model, checked, options);
      return openIndex(options.directory, {}, this.#model.searching);
    });
  }

  /**
   * Brings an index in step with a folder of documents: adds the files that are new, replaces those
   * whose contents changed, and deletes those that are gone. It builds the index if there is none,
   * and leaves passages alone that did not come from the folder. After an interruption, the same
   * call completes the work.
   *
   * @throws {InputError} as `readDocuments` and `add` do, and if the index is in step with another
   * folder.
   *
   * @example
   * ```ts
   * import { mkdtempSync, writeFileSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const folder = mkdtempSync(join(tmpdir(), "reatt-"));
   * writeFileSync(join(folder, "lion.txt"), "The lion lives in Africa and in India.");
   * const directory = join(folder, ".index");
   * await using model = await ReAtt.load("models/reatt-mini");
   * const { changes } = await model.sync(folder, { directory });
   * console.log(changes); // [ { file: 'lion.txt', change: 'added', passages: 1 } ]
   * ```
   */
  async sync(folder: string, given: SyncOptions): Promise<SyncResult> {
    checkPath(folder, "folder");
    const options = resolveOptions(SYNC, given);
    return this.#lifetime.use(async () => {
      const { sync } = await import("./reatt/indexing.ts");
      return sync(this.#model, folder, options);
    });
  }

  /**
   * Opens an index to search it. `options` choose the engine and, for a compressed index, how exact
   * the search is (`preset`).
   *
   * @throws {InputError} if there is no index, it is damaged, or another model built it.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * const lion = { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." };
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using built = await model.index([lion], { directory });
   * await using index = await model.openIndex(directory, { preset: "exact" });
   * console.log(index.passageCount); // 1
   * ```
   */
  async openIndex(directory: string, options?: OpenOptions): Promise<TokenIndex> {
    this.#lifetime.check();
    return openIndex(directory, options, this.#model.searching);
  }

  /**
   * The query vectors of questions, with which `TokenIndex.search` and `TokenIndex.searchBatch`
   * search: float32 [tokens, vectorSize] for each question, row by row. The prompt
   * is `question: {question}</s>`; all its tokens have a vector. With pooling, a question has one
   * vector: [1, vectorSize].
   *
   * @throws {InputError} if a question is empty or has more than 512 tokens.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load("models/reatt-mini");
   * const [vectors] = await model.encodeQuestions(["Where does the lion live?"]);
   * console.log(vectors!.length % 256); // 0
   * ```
   */
  async encodeQuestions(
    questions: readonly string[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<Float32Array[]> {
    const { signal } = resolveOptions(SIGNAL, options);
    checkQuestionList(questions);
    return this.#lifetime.use(() =>
      encodeQuestions(this.#model, tokenize(this.#model, questions), signal),
    );
  }

  /**
   * The best passages (or documents) for a question, or for each of many, best first. The retrieval
   * score of a passage d for a question q is the average over question tokens of the best passage
   * token (ReAtt, Eq. 1), with the vectors of the retrieval head:
   *
   *     r(q, d) = 1 / |q| * sum_i max_j Q_i . K_j
   *
   * A model with pooling has one vector for a text. The sum is then one product.
   *
   * The release of the authors returns the sum instead of the average; the ranking is the same.
   *
   * @throws {InputError} if a question is empty or has more than 512 tokens, an option is out of
   * range, or `hybrid` is true and the model stores no weights.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * const passages = [
   *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
   *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
   * ];
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using index = await model.index(passages, { directory });
   * const [best] = await model.retrieve("Where does the Rhine flow?", index, { topK: 1 });
   * console.log(best!.id); // rhine
   * ```
   */
  retrieve(question: string, index: TokenIndex, options?: RetrieveOptions): Promise<Hit[]>;
  retrieve(
    questions: readonly string[],
    index: TokenIndex,
    options?: RetrieveOptions,
  ): Promise<Hit[][]>;
  async retrieve(
    question: string | readonly string[],
    index: TokenIndex,
    given?: RetrieveOptions,
  ): Promise<Hit[] | Hit[][]> {
    checkQuestions(question);
    checkIndex(index, this.#model.searching);
    const options = resolveOptions(RETRIEVE_OPTIONS, given);
    const hybrid = chooseHybrid(options.hybrid ?? false, this.config.hybrid, this.folder);
    const texts = typeof question === "string" ? [question] : question;
    const found = await this.#lifetime.use(() =>
      this.#find(tokenize(this.#model, texts), index, { ...options, hybrid }),
    );
    const hits = found.map((own) => own.map(hitOf));
    return typeof question === "string" ? hits[0]! : hits;
  }

  /**
   * The best phrases of an index for a question, or for each of many, best first: answers without
   * reading. With the token keys k of a passage and two vectors of the question, the phrase from
   * token i to token j has the score
   *
   *     f(i, j) = q_start . k_i + q_end . k_j,   i <= j, at most 20 words
   *
   * The upper layers and the decoder do not run. The search is exact where that of the index is.
   * Every answer is a part of the text of its passage: `text.slice(span.start, span.end)`. With
   * `hybrid`, the passages are those of hybrid search, in its order, which finds more answers. The
   * model needs phrase queries, which `trainPhrases` and `reatt train phrases` train for an index.
   *
   * Source: Lee et al. 2021, Learning Dense Representations of Phrases at Scale (DensePhrases).
   *
   * @throws {InputError} if the model has no phrase queries, a question is empty or has more than
   * 512 tokens, or an option is out of range.
   *
   * @example
   * ```ts no-run
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load("runs/phrases");
   * await using index = await model.openIndex("index");
   * const [best] = await model.phrases("Who patented a steam engine?", index, { topK: 1 });
   * console.log(best?.answer, best?.span, best?.id);
   * ```
   */
  phrases(question: string, index: TokenIndex, options?: PhraseOptions): Promise<Phrase[]>;
  phrases(
    questions: readonly string[],
    index: TokenIndex,
    options?: PhraseOptions,
  ): Promise<Phrase[][]>;
  async phrases(
    question: string | readonly string[],
    index: TokenIndex,
    given?: PhraseOptions,
  ): Promise<Phrase[] | Phrase[][]> {
    checkQuestions(question);
    checkIndex(index, this.#model.searching);
    const options = resolveOptions(PHRASE_OPTIONS, given);
    if (!this.config.phraseQueries) throw noPhraseQueries(this.folder, index.directory);
    const hybrid = chooseHybrid(options.hybrid ?? false, this.config.hybrid, this.folder);
    if (hybrid && options.granularity !== "passage") throw hybridPhrases(options.granularity);
    const texts = typeof question === "string" ? [question] : question;
    const found = await this.#lifetime.use(async () => {
      const { queryEncoder } = this.#model.retriever;
      const tokenized = tokenize(this.#model, texts);
      const ids = tokenized.map((asked) => asked.ids);
      const { signal } = options;
      const vectors = await encodeSequences(queryEncoder, this.config, ids, "phrases", { signal });
      if (!hybrid) return index.snapshot((own) => this.#phrases(own, vectors, options));
      const { topK, where, filter } = options;
      const ranking = { topK, where, filter, hybrid, signal, granularity: "passage" } as const;
      const hits = await this.#find(tokenized, index, ranking);
      return index.snapshot((own) => this.#phrasesOfHits(own, vectors, hits, options));
    });
    return typeof question === "string" ? found[0]! : found;
  }

  /**
   * Explains why a passage was found: for each token of the question, the token of the passage that
   * matches best, its characters and the product of both vectors. The mean of the products is the
   * retrieval score of the passage, which is the score of a hit unless the search was hybrid. A
   * model with pooling compares no tokens: it explains with the score alone.
   *
   * @param hit a hit, or another passage of the index by its id
   * @throws {InputError} if the index does not have the passage, or the question is empty or has
   * more than 512 tokens.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * const lion = { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." };
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using index = await model.index([lion], { directory });
   * const question = "Where does the lion live?";
   * const [hit] = await model.retrieve(question, index);
   * const { tokens } = await model.explain(question, hit!, index);
   * for (const { token, match } of tokens) console.log(token, "-", match.token, match.span);
   * ```
   */
  async explain(
    question: string,
    hit: Pick<Passage, "id">,
    index: TokenIndex,
  ): Promise<Explanation> {
    checkQuestion(question);
    checkIndex(index, this.#model.searching);
    const id = idOfHit(hit);
    const { tokenizer } = this;
    return this.#lifetime.use(async () => {
      const asked = tokenize(this.#model, [question]);
      const [vectors] = await encodeQuestions(this.#model, asked);
      return index.snapshot(async (generation) => {
        const ordinal = await generation.find(id);
        if (ordinal === undefined) throw notInIndex(id, generation.directory);
        const passage = (await generation.passages([ordinal]))[0]!;
        const matches = await generation.matches(vectors!, ordinal);
        const { pooling } = generation.header;
        if (pooling !== undefined) return { score: matches[0]!.score, tokens: [] };
        const { header } = generation;
        const keys = await generation.keys(ordinal);
        const count = keys.length / header.dimension;
        const { ids, kept } = await this.#indexedTokens(passage, header, count);
        const parts = { question: asked[0]!, passage, passageIds: ids, kept, matches };
        return explanationOf(tokenizer, parts);
      });
    });
  }

  /**
   * Passages that you have, ranked by their retrieval scores for a question, best first. The scores
   * are those that `retrieve` returns from an index with float32 keys. Passages with equal scores
   * stay in their order. The result keeps all properties of the passages.
   *
   * A passage that is longer than `maxPassageTokens` is compared by its beginning; `cutTokens` is
   * the number of its other tokens.
   *
   * @throws {InputError} if the question is empty or has more than 512 tokens.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load();
   * const [best] = await model.rerank("Where does the Rhine flow?", [
   *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
   *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
   * ]);
   * console.log(best!.id); // rhine
   * ```
   */
  async rerank<P extends PassageInput>(
    question: string,
    passages: readonly P[],
    given?: RerankOptions,
  ): Promise<(P & Reranked)[]> {
    checkQuestion(question);
    checkPassageList(passages, "passages");
    const { topK = passages.length, maxPassageTokens, signal } = resolveOptions(RERANK, given);
    return this.#lifetime.use(async () => {
      const options = { maxPassageTokens, signal };
      const scores = await scorePassages(
        this.#model,
        tokenize(this.#model, [question])[0]!,
        passages,
        options,
      );
      const scored = passages.map((passage, i) => {
        const cutTokens = tokensOver(this.tokenizer, passage, maxPassageTokens);
        return { ...passage, score: scores[i]!, ...(cutTokens > 0 && { cutTokens }) };
      });
      return scored.sort((a, b) => b.score - a.score).slice(0, topK);
    });
  }

  /**
   * Reads the answer to a question from passages. For many questions with a list of passages each,
   * the replies come one after the other. The upper encoder layers encode the question with each
   * passage; the decoder attends to all of them (fusion-in-decoder, Izacard and Grave 2021). With
   * `reader: "marginal"`, it reads each passage alone and the answer y has the highest sum over
   * these passages and the null passage (REALM, Eq. 1):
   *
   *     P(y | x) = sum_z P(y | x, z) P(z | x)    P(z | x) = softmax over z of e^s r(x, z)
   *
   * with the retrieval score r and the scale e^s that the model learned (`config.retrievalScale`).
   * The sums are exact over the candidates: the answers that each passage alone gives.
   * `Evidence` keeps all properties of the passages, such as `score`.
   *
   * @throws {InputError} if a question is empty, has more than 512 tokens or has no passages.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load("models/reatt-mini");
   * const reply = await model.read("Who patented a steam engine?", [
   *   { id: "watt", title: "James Watt", text: "James Watt patented a steam engine in 1769." },
   *   { id: "cat", title: "Cat", text: "Cats purr and sleep up to twenty hours a day." },
   * ]);
   * console.log(reply.answer, reply.passages[0]!.span); // James Watt { start: 0, end: 10 }
   * ```
   */
  read<P extends PassageInput>(
    question: string,
    passages: readonly P[],
    options?: ReadOptions,
  ): Promise<Reply<P>>;
  read<P extends PassageInput>(
    questions: readonly string[],
    passages: readonly (readonly P[])[],
    options?: ReadOptions,
  ): AsyncGenerator<Reply<P>, void>;
  read<P extends PassageInput>(
    question: string | readonly string[],
    passages: readonly P[] | readonly (readonly P[])[],
    given?: ReadOptions,
  ): Promise<Reply<P>> | AsyncGenerator<Reply<P>, void> {
    if (typeof question === "string") return this.#readOne(question, passages as P[], given);
    checkQuestionList(question);
    checkPassageLists(passages, question.length);
    const lists = passages as readonly (readonly P[])[];
    const options = resolveOptions(READ_OPTIONS, given);
    this.#lifetime.check();
    const find = async (_: readonly TokenizedQuestion[], positions: readonly number[]) =>
      positions.map((position) => toRead(lists[position]!));
    return this.#reply(question, find, options);
  }

  async #readOne<P extends PassageInput>(
    question: string,
    passages: readonly P[],
    given?: ReadOptions,
  ): Promise<Reply<P>> {
    checkQuestion(question);
    checkPassageList(passages, "passages");
    const options = resolveOptions(READ_OPTIONS, given);
    return onlyReply(this.#reply([question], async () => [toRead(passages)], options));
  }

  /**
   * The retrieval utility of passages for a question with accepted answers Y: how much more
   * probable they make an answer than reading nothing, as natural logarithms in the order of the
   * passages. Each passage z is read alone:
   *
   *     RU(z | x) = log P(Y | x, z) - log P(Y | x, null passage)
   *     P(Y | x, z) = sum over y in Y of P(y | x, z)
   *
   * Source: Guu et al. 2020 (REALM), appendix D.
   *
   * @throws {InputError} if the question is empty or has more than 512 tokens, or there is no
   * answer.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * await using model = await ReAtt.load("models/reatt-mini");
   * const [watt, cat] = await model.retrievalUtility("Who patented a steam engine?", ["Watt"], [
   *   { id: "watt", title: "James Watt", text: "James Watt patented a steam engine in 1769." },
   *   { id: "cat", title: "Cat", text: "Cats purr and sleep up to twenty hours a day." },
   * ]);
   * console.log(watt! > cat!); // true
   * ```
   */
  async retrievalUtility(
    question: string,
    answers: readonly string[],
    passages: readonly PassageInput[],
    given?: UtilityOptions,
  ): Promise<number[]> {
    checkQuestion(question);
    checkTexts(answers, "answers");
    checkPassageList(passages, "passages");
    const options = resolveOptions(UTILITY_OPTIONS, given);
    return this.#lifetime.use(async () => {
      const [asked] = tokenize(this.#model, [question]);
      return retrievalUtilities(await this.#answeringModel(), asked!, answers, passages, options);
    });
  }

  /**
   * Answers a question from an index: `retrieve`, then `read`. For many questions, the replies come
   * one after the other, in the order of the questions. If the model stores weights of hybrid
   * search, passages are ranked with BM25, unless `hybrid` is false.
   *
   * @throws {InputError} as `retrieve` does, and if a filter leaves no passage to read.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from "node:fs";
   * import { tmpdir } from "node:os";
   * import { join } from "node:path";
   * import { ReAtt } from "reatt";
   *
   * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
   * const passages = [
   *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
   *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
   * ];
   * await using model = await ReAtt.load("models/reatt-mini");
   * await using index = await model.index(passages, { directory });
   * const reply = await model.answer("Where does the Rhine flow?", index, { topK: 2 });
   * console.log(reply.answer); // North Sea
   * const questions = ["Where does the Rhine flow?", "Where does the lion live?"];
   * for await (const { passages } of model.answer(questions, index)) console.log(passages[0]!.id);
   * ```
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
    given?: AnswerOptions,
  ): Promise<Reply<Hit>> | AsyncGenerator<Reply<Hit>, void> {
    if (typeof question === "string") return this.#answerOne(question, index, given);
    checkQuestionList(question);
    checkIndex(index, this.#model.searching);
    this.#lifetime.check();
    return this.#answers(question, index, resolveOptions(ANSWER, given));
  }

  async #answerOne(
    question: string,
    index: TokenIndex,
    given?: AnswerOptions,
  ): Promise<Reply<Hit>> {
    checkQuestion(question);
    checkIndex(index, this.#model.searching);
    return onlyReply(this.#answers([question], index, resolveOptions(ANSWER, given)));
  }

  #answers(
    questions: readonly string[],
    index: TokenIndex,
    options: Resolved<typeof ANSWER>,
  ): AsyncGenerator<Reply<Hit>, void> {
    const { maxPassageTokens } = index.header;
    const { hybrid: stored, answerPassages = PASSAGES_READ } = this.config;
    const { topK = answerPassages } = options;
    const hybrid = chooseHybrid(options.hybrid ?? stored !== undefined, stored, this.folder);
    // One more than is read: a calibration compares the best passage with the next.
    const request = { ...options, topK: topK + 1, hybrid, withStates: true, withSimilarity: true };
    const retrievalScore = retrievalScoreOf(hybrid);
    const readable = (own: FoundPassage): PassageToRead<Hit> => ({
      passage: hitOf(own),
      score: retrievalScore(own.score),
      states: own.states,
    });
    const find = async (batch: readonly TokenizedQuestion[]) =>
      (await this.#find(batch, index, request)).map((found): ToRead<Hit> => {
        const similarities = found.map(({ similarity }) => similarity!);
        return {
          passages: found.slice(0, topK).map(readable),
          match: { similarities: similarities.slice(0, topK), next: similarities[topK] },
        };
      });
    const reading = { ...options, maxPassageTokens };
    return this.#reply(questions, find, reading, true);
  }

  /**
   * Releases the native memory of the model, as leaving the scope of `await using` does. It waits
   * for the calls that are running; later ones fail. It can be called twice.
   *
   * @example
   * ```ts
   * import { ReAtt } from "reatt";
   *
   * const model = await ReAtt.load("models/reatt-mini");
   * console.log(model.config.retrieval[0]?.layers);
   * await model.close();
   * ```
   */
  close(): Promise<void> {
    return this.#lifetime.close(async () => {
      const reader = await this.#reader;
      await Promise.all([
        this.#model.retriever[Symbol.asyncDispose](),
        reader?.[Symbol.asyncDispose](),
      ]);
    });
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The tokens of a passage that has `count` keys in an index. */
  #indexedTokens(passage: Passage, header: IndexHeader, count: number): Promise<IndexedTokens> {
    const model = passageKeyModel(this.#model);
    return indexedTokens(model, passage, header.maxPassageTokens, chooserOf(header, count));
  }

  async #phrases(
    generation: IndexGeneration,
    vectors: readonly Float32Array[],
    options: PhraseRequest,
  ): Promise<Phrase[][]> {
    const found = await searchPhrases(generation, vectors, options, async (passage, keys) => {
      const { ids, kept } = await this.#indexedTokens(passage, generation.header, keys);
      return textPlaces(this.tokenizer, passage, ids, kept);
    });
    return Promise.all(
      found.map(async (phrases) => {
        const passages = await generation.passages(phrases.map(({ ordinal }) => ordinal));
        return phrases.map(({ score, span }, i) => {
          const passage = passages[i]!;
          return { ...passage, score, answer: passage.text.slice(span.start, span.end), span };
        });
      }),
    );
  }

  /** The best phrase of each hit of each question. A passage without a phrase is left out. */
  #phrasesOfHits(
    generation: IndexGeneration,
    vectors: readonly Float32Array[],
    hits: readonly (readonly FoundPassage[])[],
    { granularity, topK, signal }: PhraseRequest,
  ): Promise<Phrase[][]> {
    const ofQuestion = async (own: readonly FoundPassage[], question: number) => {
      const ids = own.map(({ passage }) => passage.id);
      const filter = new Set(ids);
      const request = { granularity, topK, signal, filter, where: undefined };
      const [phrases] = await this.#phrases(generation, [vectors[question]!], request);
      const byId = new Map(phrases!.map((phrase) => [phrase.id, phrase]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    };
    return Promise.all(hits.map(ofQuestion));
  }

  async #find(
    questions: readonly TokenizedQuestion[],
    index: TokenIndex,
    request: RankRequest,
  ): Promise<FoundPassage[][]> {
    const vectors = await encodeQuestions(this.#model, questions, request.signal);
    const encoded = questions.map(({ text }, i) => ({ text, vectors: vectors[i]! }));
    return index.snapshot((generation) => {
      const { statesFingerprint } = this.#model.searching;
      const isOwn = generation.header.states?.fingerprint === statesFingerprint;
      const withStates = isOwn && request.withStates;
      return rank(generation, encoded, { ...request, withStates });
    });
  }

  async #read<P extends PassageInput>(
    questions: readonly TokenizedQuestion[],
    found: readonly ToRead<P>[],
    options: ResolvedReadOptions,
  ): Promise<Omit<Reply<P>, "times">[]> {
    if (questions.length === 0) return []; // without opening the reader
    return answerFromPassages(await this.#answeringModel(), questions, found, options);
  }

  /** What reads. The reader is opened once, or again after a failure. */
  async #answeringModel(): Promise<AnsweringModel> {
    this.#reader ??= this.#openReader().catch((error: unknown) => {
      this.#reader = undefined;
      throw error;
    });
    const { config, tokenizer } = this;
    const { encoder } = this.#model.retriever;
    const scoring: AnsweringModel["scorePassages"] = (question, passages, options) =>
      scorePassages(this.#model, question, passages, options);
    const reader = await this.#reader;
    return { config, tokenizer, encoder, reader, states: this.#states, scorePassages: scoring };
  }

  /**
   * Tokenizes questions, finds their passages and reads them, batch by batch. Retrieval and reading
   * share the tokens but not the states: retrieval encodes the question with `</s>`, reading
   * without. With `abstains`, it abstains from a question without a passage; otherwise that is an
   * error.
   */
  async *#reply<P extends PassageInput>(
    texts: readonly string[],
    find: (
      asked: readonly TokenizedQuestion[],
      positions: readonly number[],
    ) => Promise<readonly ToRead<P>[]>,
    options: ResolvedReadOptions,
    abstains = false,
  ): AsyncGenerator<Reply<P>, void> {
    const { onText } = options;
    for (let first = 0; first < texts.length; first += QUESTIONS_PER_BATCH) {
      const batch = texts.slice(first, first + QUESTIONS_PER_BATCH);
      yield* await this.#lifetime.use(async () => {
        const start = performance.now();
        const replies = batch.map(() => abstention<P>());
        const asked = batch.flatMap((text, position) => {
          try {
            return [{ position, question: tokenize(this.#model, [text])[0]! }];
          } catch (error) {
            if (!(error instanceof InputError)) throw error;
            replies[position] = { ...abstention<P>(), error };
            return [];
          }
        });
        const found = await find(
          asked.map(({ question }) => question),
          asked.map(({ position }) => first + position),
        );
        const middle = performance.now();
        const rows = asked
          .map((one, i) => ({ ...one, toRead: found[i]! }))
          .filter(({ toRead }) => !(abstains && toRead.passages.length === 0));
        const read = await this.#read(
          rows.map(({ question }) => question),
          rows.map(({ toRead }) => toRead),
          {
            ...options,
            onText: onText && ((text, row) => onText(text, first + rows[row]!.position)),
          },
        );
        for (const [row, reply] of read.entries()) replies[rows[row]!.position] = reply;
        const times = {
          retrieve: (middle - start) / batch.length,
          read: (performance.now() - middle) / batch.length,
        };
        return replies.map((reply) => ({ ...reply, times }));
      });
    }
  }
}

/** Only JavaScript can call the constructor. */
const notLoaded = (): InputError =>
  new InputError({
    where: "new ReAtt",
    expected: "a call of ReAtt.load",
    got: "new ReAtt(...)",
    remedy: "write await ReAtt.load(MODEL)",
  });

const hitOf = ({ passage, score }: FoundPassage): Hit => ({ ...passage, score });

/**
 * The retrieval score from that of a search. That of hybrid search is in another unit: divided by
 * lambda, the unit is that of the retrieval score. Undefined for a search by BM25 alone.
 */
function retrievalScoreOf(
  hybrid: HybridOptions | undefined,
): (score: number) => number | undefined {
  if (!hybrid) return (score) => score;
  const { lambda } = hybrid;
  return (score) => (lambda > 0 ? score / lambda : undefined);
}

const toRead = <P extends PassageInput>(passages: readonly P[]): ToRead<P> => ({
  passages: passages.map((passage) => ({ passage })),
});

/** @throws the error of the question, if it has one */
async function onlyReply<P extends PassageInput>(
  replies: AsyncGenerator<Reply<P>, void>,
): Promise<Reply<P>> {
  const { value } = await replies.next();
  if (value!.error) throw value!.error;
  return value!;
}

/** @throws {InputError} unless `given` is a passage with an id */
function idOfHit(given: unknown): string {
  const { id } = (given ?? {}) as { readonly id?: unknown };
  if (typeof id === "string") return id;
  throw new InputError({
    where: "hit",
    expected: "a hit of retrieve, or another object with the id of a passage",
    got: given === undefined ? "nothing" : excerpt(given),
    remedy: "give a hit",
  });
}

const hybridPhrases = (granularity: string): InputError =>
  new InputError({
    where: "hybrid",
    expected: 'granularity "passage", because hybrid search ranks passages',
    got: JSON.stringify(granularity),
    remedy: "give that granularity, or leave hybrid out",
  });

const noPhraseQueries = (folder: string, index: string): InputError =>
  new InputError({
    where: folder,
    expected: "a model with phrase queries",
    got: "one without",
    remedy:
      `train them: reatt train phrases --model ${folder} --index ${index} ` +
      "--data QUESTIONS.jsonl --out DIR",
  });

const notInIndex = (id: string, directory: string): InputError =>
  new InputError({
    where: "hit",
    expected: `a passage of ${directory}`,
    got: `the id ${excerpt(id)}`,
    remedy: "give a hit of a search in this index",
  });

/** @throws {InputError} unless `given` is an open index that this model can search */
function checkIndex(given: unknown, model: SearchingModel): asserts given is TokenIndex {
  checkOpenIndex(given, ["searchBatch", "snapshot"]);
  const { directory, header } = given as TokenIndex;
  checkModel(directory, header, model);
}
