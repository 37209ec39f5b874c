/**
 * The public class: one encoder-decoder that indexes, retrieves and reads.
 *
 * Source: Jiang et al. 2022, Retrieval as Attention: End-to-end Learning of Retrieval and Reading
 * within a Single Transformer ("ReAtt").
 */

import { READ_OPTIONS, type ReadOptions, type ReadPassage, type Reply } from "./decoder/answers.ts";
import { UTILITY_OPTIONS, type UtilityOptions } from "./decoder/retrieval-utility.ts";
import { InputError } from "./io/errors.ts";
import { excerpt } from "./io/excerpt.ts";
import type { ModelConfig } from "./model/config.ts";
import {
  checkedDocuments,
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
import { SIGNAL } from "./options/option.ts";
import { resolveOptions } from "./options/resolve.ts";
import { answers, onlyReply, readings, utilities } from "./reatt/answering.ts";
import { type Context, type ContextSource, contextOf } from "./reatt/context.ts";
import { loadModel } from "./reatt/load-model.ts";
import { encodeQuestions, type LoadedModel, tokenize } from "./reatt/loaded-model.ts";
import { type OpenIndex, openFor } from "./reatt/open-index.ts";
import {
  ADD,
  type AddOptions,
  ANSWER,
  type AnswerOptions,
  CONTEXT,
  type ContextOptions,
  INDEX,
  type IndexOptions,
  LOAD,
  type LoadOptions,
  type PhraseOptions,
  RERANK,
  type RemoveOptions,
  type RerankOptions,
  type RetrieveOptions,
  SYNC,
  type SyncOptions,
  type UpsertOptions,
} from "./reatt/options.ts";
import { findPhrases, type Phrase } from "./reatt/phrases.ts";
import {
  explain,
  type Hit,
  type RawScores,
  type Reranked,
  type Retrieval,
  rerank,
  retrievals,
} from "./reatt/retrieving.ts";
import type { Explanation } from "./retrieval/explain.ts";
import { chooseHybrid } from "./retrieval/hybrid.ts";
import type { BuildForecast } from "./retrieval/index/write/forecast.ts";
import type { OpenOptions } from "./retrieval/open-index.ts";
import { oneIndex } from "./retrieval/places/joined-index.ts";
import { checkModel } from "./retrieval/places/searching-model.ts";
import { RETRIEVE_OPTIONS } from "./retrieval/rank.ts";
import type { TokenIndex } from "./retrieval/search/token-index.ts";
import { PHRASE_OPTIONS } from "./retrieval/search-phrases.ts";
import type { SyncResult } from "./sync/sync.ts";
import type { DocumentInput, PassageInput } from "./text/passage.ts";
import type { Tokenizer } from "./text/tokens/tokenizer.ts";

export type {
  AddOptions,
  AnswerOptions,
  Context,
  ContextOptions,
  ContextSource,
  Hit,
  IndexOptions,
  LoadOptions,
  OpenIndex,
  Phrase,
  PhraseOptions,
  RawScores,
  ReadOptions,
  ReadPassage,
  RemoveOptions,
  Reply,
  Reranked,
  RerankOptions,
  Retrieval,
  RetrieveOptions,
  SyncOptions,
  UpsertOptions,
  UtilityOptions,
};

/** An open index, or several of one model that are searched together. */
export type Indexes = TokenIndex | readonly TokenIndex[];

/**
 * A loaded model. It holds native memory: declare it with `await using`, and the indexes that it
 * opens too.
 */
export class ReAtt implements AsyncDisposable {
  /** The folder that the model was loaded from. */
  readonly folder: string;
  /** What `config.json` says, in the form of this library. */
  readonly config: ModelConfig;
  /** Turns texts into token ids. */
  readonly tokenizer: Tokenizer;
  /**
   * SHA-256 of everything that determines the keys of passages, as 64 hexadecimal digits. A model
   * can search the indexes that were built with its fingerprint.
   */
  readonly fingerprint: string;
  readonly #model: LoadedModel;

  private constructor(model: LoadedModel) {
    if (!model?.lifetime) throw notLoaded();
    this.folder = model.folder;
    this.config = model.config;
    this.tokenizer = model.tokenizer;
    this.fingerprint = model.searching.fingerprint;
    this.#model = model;
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
  static async load(model?: string, options?: LoadOptions): Promise<ReAtt> {
    if (model !== undefined) checkPath(model, "model");
    return new ReAtt(await loadModel(model, resolveOptions(LOAD, options)));
  }

  /**
   * Builds an index: encodes passages and stores one key of `vectorSize` values for each token, or
   * with pooling one for each passage. Memory does not grow with the number of passages, except for
   * 24 bytes for each. An index that exists in `directory` is replaced only with `replace`, when
   * the new one is complete. An interrupted build continues when the same call is made again with
   * the same passages.
   *
   * `directory` can be the address of a collection of a store (`docs/SCALE.md`), such as
   * `postgres://USER@HOST/DATABASE/COLLECTION` or `weaviate://HOST/COLLECTION`. `shard` then
   * imports one part beside others.
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
    options: IndexOptions,
  ): Promise<OpenIndex> {
    const settings = resolveOptions(INDEX, options);
    const checked = checkedPassages(passages);
    return this.#model.lifetime.use(async () => {
      const { build } = await import("./reatt/indexing.ts");
      await build(this.#model, checked, settings);
      return openFor(this.#model, settings.directory);
    });
  }

  /**
   * Estimates what `index` needs for these passages: tokens, bytes on disk at the end and during
   * the build, memory and time. It reads all passages, tokenizes one in 16, and encodes up to 16.
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
    options: IndexOptions,
  ): Promise<BuildForecast> {
    const settings = resolveOptions(INDEX, options);
    const checked = checkedPassages(passages);
    return this.#model.lifetime.use(async () => {
      const { forecast } = await import("./reatt/indexing.ts");
      return forecast(this.#model, checked, settings);
    });
  }

  /**
   * Adds passages to an index of this model, with the options that it was built with. A passage
   * whose id is in the index replaces the old one. An open index has `upsert`, which also splits
   * documents; questions to open indexes see the new passages.
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
    options: AddOptions,
  ): Promise<OpenIndex> {
    const settings = resolveOptions(ADD, options);
    const checked = checkedPassages(passages);
    return this.#model.lifetime.use(async () => {
      const { add } = await import("./reatt/indexing.ts");
      await add(this.#model, checked, settings);
      return openFor(this.#model, settings.directory);
    });
  }

  /**
   * Brings an index in step with a folder of documents: adds the files that are new, replaces those
   * whose contents changed, and deletes those that are gone. It builds the index if there is none,
   * and leaves passages alone that did not come from the folder. After an interruption, the same
   * call completes the work.
   *
   * @throws {InputError} as `readDocuments` and `add` do, if the index is in step with another
   * folder, and if more than half of its passages would be deleted without the option `delete`.
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
  async sync(folder: string, options: SyncOptions): Promise<SyncResult> {
    checkPath(folder, "folder");
    const settings = resolveOptions(SYNC, options);
    return this.#model.lifetime.use(async () => {
      const { sync } = await import("./reatt/indexing.ts");
      return sync(this.#model, folder, settings);
    });
  }

  /**
   * Opens the index in `directory` after it is brought up to date with a source: a folder, a file,
   * or documents as values. Their content is split into passages `ID#1`, `ID#2` …; so is a `text`
   * that is longer than the model reads, and a shorter one is a passage with its own id. It builds
   * the index if there is none, and encodes only what changed, so a program can begin with this
   * call each time. Documents that did not change are not even split. The index then has exactly
   * the passages of the source; only with a folder, it keeps passages that did not come from there.
   *
   * @throws {InputError} as `index` and `sync` do, and for passages if the index follows a folder.
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
   * for (const _ of ["first run", "second run"]) {
   *   await using index = await model.openOrIndex([lion], { directory });
   *   console.log(index.passageCount); // 1
   * }
   * ```
   */
  async openOrIndex(
    source:
      | string
      | AsyncIterable<PassageInput | DocumentInput>
      | Iterable<PassageInput | DocumentInput>,
    options: SyncOptions,
  ): Promise<OpenIndex> {
    const settings = resolveOptions(SYNC, options);
    if (typeof source === "string") checkPath(source, "source");
    const checked = typeof source === "string" ? source : checkedDocuments(source);
    return this.#model.lifetime.use(async () => {
      const { bringUpToDate } = await import("./reatt/indexing.ts");
      await bringUpToDate(this.#model, checked, settings);
      return openFor(this.#model, settings.directory);
    });
  }

  /**
   * Opens an index to search it: a folder, or the address of a collection of a store, such as
   * `postgres://USER@HOST/DATABASE/COLLECTION` or `weaviate://HOST/COLLECTION`. `options` choose
   * the engine and, for a compressed index, how exact the search is (`preset`).
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
  async openIndex(directory: string, options?: OpenOptions): Promise<OpenIndex> {
    this.#model.lifetime.check();
    return openFor(this.#model, directory, options);
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
    return this.#model.lifetime.use(() => {
      const tokenized = questions.map((text) => tokenize(this.#model, text));
      return encodeQuestions(this.#model, tokenized, signal);
    });
  }

  /**
   * The best passages (or documents) for a question, best first. For many questions, the results
   * come one after the other, in the order of the questions; a question that cannot be read has an
   * `error` in place of passages.
   *
   * If the model stores weights of hybrid search, passages are ranked with BM25, unless `hybrid` is
   * false. The score of a passage is the probability that it answers the question, if the model
   * stores a calibration of scores.
   *
   * The retrieval score of a passage d for a question q is the average over question tokens of the
   * best passage token (ReAtt, Eq. 1), with the vectors of the retrieval head:
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
   * console.log(best!.id, best!.score > 0.5); // rhine true
   * const questions = ["Where does the Rhine flow?", "Where does the lion live?"];
   * for await (const found of model.retrieve(questions, index)) console.log(found.passages[0]!.id);
   * ```
   */
  retrieve(question: string, index: Indexes, options?: RetrieveOptions): Promise<Hit[]>;
  retrieve(
    questions: readonly string[],
    index: Indexes,
    options?: RetrieveOptions,
  ): AsyncGenerator<Retrieval, void>;
  retrieve(
    question: string | readonly string[],
    index: Indexes,
    options?: RetrieveOptions,
  ): Promise<Hit[]> | AsyncGenerator<Retrieval, void> {
    if (typeof question === "string") return this.#retrieveOne(question, index, options);
    checkQuestionList(question);
    const one = this.#searchable(index);
    this.#model.lifetime.check();
    const settings = resolveOptions(RETRIEVE_OPTIONS, options);
    const hybrid = chooseHybrid(settings.hybrid, this.config.hybrid, this.folder);
    return retrievals(this.#model, question, one, { ...settings, hybrid });
  }

  async #retrieveOne(question: string, index: Indexes, options?: RetrieveOptions): Promise<Hit[]> {
    checkQuestion(question);
    const { value } = await this.retrieve([question], index, options).next();
    if (value!.error) throw value!.error;
    return [...value!.passages];
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
    options?: PhraseOptions,
  ): Promise<Phrase[] | Phrase[][]> {
    checkQuestions(question);
    this.#searchable(index);
    const settings = resolveOptions(PHRASE_OPTIONS, options);
    const { hybrid: stored } = this.config;
    const hybrid = chooseHybrid(settings.hybrid ?? false, stored, this.folder);
    const texts = typeof question === "string" ? [question] : question;
    const found = await this.#model.lifetime.use(() =>
      findPhrases(this.#model, texts, index, settings, hybrid),
    );
    return typeof question === "string" ? found[0]! : found;
  }

  /**
   * Explains why a passage was found: for each token of the question, the token of the passage that
   * matches best, its characters and the product of both vectors. The mean of the products is the
   * retrieval score of the passage: `scores.similarity` of a hit with the option `explain`. A model
   * with pooling compares no tokens: it explains with the score alone.
   *
   * @param hit a hit, or another passage of the index by its id; of several indexes that have the
   *   id, its `collection` names one
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
    hit: { readonly id: string; readonly collection?: string | undefined },
    index: Indexes,
  ): Promise<Explanation> {
    checkQuestion(question);
    const one = this.#searchable(index);
    checkHit(hit);
    return this.#model.lifetime.use(() => explain(this.#model, question, hit, one));
  }

  /**
   * Passages that you have, ranked by their retrieval scores for a question, best first. The scores
   * are those that `retrieve` returns by the model alone (`hybrid: false`) from an index with
   * float32 keys. Passages with equal scores
   * stay in their order. The result keeps all properties of the passages.
   *
   * A passage that is longer than `maxPassageTokens` is compared in windows of whole sentences; its
   * score is that of the best one. An index compares only its beginning.
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
    options?: RerankOptions,
  ): Promise<(P & Reranked)[]> {
    checkQuestion(question);
    checkPassageList(passages, "passages");
    const settings = resolveOptions(RERANK, options);
    return this.#model.lifetime.use(() => rerank(this.#model, question, passages, settings));
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
   * `ReadPassage` keeps all properties of the passages, such as `score`.
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
    options?: ReadOptions,
  ): Promise<Reply<P>> | AsyncGenerator<Reply<P>, void> {
    if (typeof question === "string") return this.#readOne(question, passages as P[], options);
    checkQuestionList(question);
    checkPassageLists(passages, question.length);
    const settings = resolveOptions(READ_OPTIONS, options);
    this.#model.lifetime.check();
    return readings(this.#model, question, passages as readonly (readonly P[])[], settings);
  }

  async #readOne<P extends PassageInput>(
    question: string,
    passages: readonly P[],
    options?: ReadOptions,
  ): Promise<Reply<P>> {
    checkQuestion(question);
    checkPassageList(passages, "passages");
    const settings = resolveOptions(READ_OPTIONS, options);
    return onlyReply(readings(this.#model, [question], [passages], settings));
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
    options?: UtilityOptions,
  ): Promise<number[]> {
    checkQuestion(question);
    checkTexts(answers, "answers");
    checkPassageList(passages, "passages");
    const settings = resolveOptions(UTILITY_OPTIONS, options);
    return this.#model.lifetime.use(() =>
      utilities(this.#model, question, answers, passages, settings),
    );
  }

  /**
   * Answers a question from an index: `retrieve`, then `read` for the best passages. `topK`
   * passages are returned, the first `readTopK` are read. For many questions, the replies come one
   * after the other, in the order of the questions. A list of indexes is searched as one. If the
   * model stores weights of hybrid search, passages are ranked with BM25, unless `hybrid` is false.
   *
   * @throws {InputError} as `retrieve` does.
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
   * const reply = await model.answer("Where does the Rhine flow?", index);
   * console.log(reply.answer); // North Sea
   * const questions = ["Where does the Rhine flow?", "Where does the lion live?"];
   * for await (const { passages } of model.answer(questions, index)) console.log(passages[0]!.id);
   * ```
   */
  answer(question: string, index: Indexes, options?: AnswerOptions): Promise<Reply<Hit>>;
  answer(
    questions: readonly string[],
    index: Indexes,
    options?: AnswerOptions,
  ): AsyncGenerator<Reply<Hit>, void>;
  answer(
    question: string | readonly string[],
    index: Indexes,
    options?: AnswerOptions,
  ): Promise<Reply<Hit>> | AsyncGenerator<Reply<Hit>, void> {
    if (typeof question === "string") return this.#answerOne(question, index, options);
    checkQuestionList(question);
    const one = this.#searchable(index);
    this.#model.lifetime.check();
    return answers(this.#model, question, one, resolveOptions(ANSWER, options));
  }

  async #answerOne(question: string, index: Indexes, options?: AnswerOptions): Promise<Reply<Hit>> {
    checkQuestion(question);
    const one = this.#searchable(index);
    return onlyReply(answers(this.#model, [question], one, resolveOptions(ANSWER, options)));
  }

  /**
   * What a language model reads to answer a question: the blocks that most probably answer, their
   * passages, then further passages, as many as fit into `maxTokens`. Parts of one document stand
   * in its order. Each has a number, and `prompt` asks to cite it.
   *
   * @throws {InputError} as `answer` does.
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
   * await using model = await ReAtt.load();
   * await using index = await model.index(passages, { directory });
   * const { prompt, sources } = await model.context("Where does the Rhine flow?", index);
   * console.log(prompt.includes("[1] Rhine"), sources[0]!.id); // true rhine
   * ```
   */
  async context(question: string, index: Indexes, options?: ContextOptions): Promise<Context> {
    checkQuestion(question);
    const one = this.#searchable(index);
    return contextOf(this.#model, question, one, resolveOptions(CONTEXT, options));
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
    return this.#model.lifetime.close(async () => this.#model[Symbol.asyncDispose]());
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * The index, or the one over several.
   *
   * @throws {InputError} unless it is open, and this model can search it
   */
  #searchable(given: Indexes): TokenIndex {
    const index = oneIndex(given);
    checkOpenIndex(index, ["searchBatch", "snapshot"]);
    for (const { directory, header } of index.indexes)
      checkModel(directory, header, this.#model.searching);
    return index;
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

/** @throws {InputError} unless `hit` is a passage with an id */
function checkHit(hit: unknown): void {
  const { id } = (hit ?? {}) as { readonly id?: unknown };
  if (typeof id === "string") return;
  throw new InputError({
    where: "hit",
    expected: "a hit of retrieve, or another object with the id of a passage",
    got: hit === undefined ? "nothing" : excerpt(hit),
    remedy: "give a hit",
  });
}
