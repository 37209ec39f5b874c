/** What a server does with a model and an index, whichever protocol asks for it. */

import { hitLists } from "../../reatt/retrieving.ts";
import type { Hit, ReAtt, Reply } from "../../reatt.ts";
import type { Explanation } from "../../retrieval/explain.ts";
import { deletePassages } from "../../retrieval/maintain.ts";
import { placeOf } from "../../retrieval/places/place-of.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Passage } from "../../text/passage.ts";
import { retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import { ApiError, ofRequest } from "./api-error.ts";
import { type BatchContext, BatchQueue } from "./batch-queue.ts";
import { type Catalogue, readCatalogue } from "./catalogue.ts";
import { type Found, getDocument, getDocuments, listDocuments, noCollection } from "./documents.ts";
import type {
  AnswerRequest,
  ExplainRequest,
  GetRequest,
  MultiGetRequest,
  PutRequest,
  ReadRequest,
  RetrieveRequest,
} from "./requests.ts";
import { fieldToJson, type Status } from "./results.ts";
import { answeredQuestions, candidateQuestions } from "./suggested-questions.ts";

/** Questions of one batch. More would make the first of them wait long for its answer. */
const QUESTIONS_PER_BATCH = 16;

export interface ServiceOptions {
  readonly model: ReAtt;
  /** An open index of the model. The caller closes it after the service. */
  readonly index: TokenIndex;
  readonly collection: CollectionInfo;
  /** Requests that may wait. */
  readonly queue: number;
  /** Where questions go that no block answers. */
  readonly unansweredFile?: string | undefined;
  /** Receives the size of each batch. */
  readonly onBatch?: ((size: number) => void) | undefined;
}

/** What a person or an assistant calls the documents. */
export interface CollectionInfo {
  readonly title: string;
  readonly description?: string | undefined;
}

export interface Call {
  readonly signal: AbortSignal;
  /** Receives the answer piece by piece. */
  readonly onText?: ((text: string) => void) | undefined;
}

export class Service implements AsyncDisposable {
  readonly #model: ReAtt;
  readonly #index: TokenIndex;
  readonly #queue: BatchQueue;
  readonly collection: CollectionInfo;
  /** Of generations, not of numbers: an index that replaces another begins with 1 again. */
  readonly #catalogues = new WeakMap<IndexGeneration, Promise<Catalogue>>();
  #suggested: { readonly of: Catalogue; readonly questions: readonly string[] } | undefined;
  /** The last change of the index: one runs at a time. */
  #change: Promise<unknown> = Promise.resolve();
  /** Changes that run or wait, and how many may. */
  #changes = 0;
  readonly #maxChanges: number;
  readonly #unansweredFile: string | undefined;

  private constructor(options: ServiceOptions) {
    this.#model = options.model;
    this.#index = options.index;
    this.collection = options.collection;
    this.#maxChanges = options.queue;
    this.#unansweredFile = options.unansweredFile;
    const limits = { waiting: options.queue, batch: QUESTIONS_PER_BATCH };
    this.#queue = new BatchQueue(limits, options.onBatch);
  }

  /** Answers a question first, so that the first client does not wait for BM25. */
  static async start(options: ServiceOptions): Promise<Service> {
    await options.model.answer("Which passages are there?", options.index, { readTopK: 1 });
    return new Service(options);
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  get passageCount(): number {
    return this.#index.passageCount;
  }

  get generation(): number {
    return this.#index.generation;
  }

  /** @throws {ApiError} `unavailable` if the index cannot be reached */
  async checkReady(): Promise<void> {
    try {
      await this.#index.refresh();
    } catch (cause) {
      throw new ApiError("unavailable", "the index cannot be reached", { cause });
    }
  }

  async retrieve(request: RetrieveRequest, { signal }: Call): Promise<Hit[]> {
    const { question, id: _, ...options } = request;
    this.#checkQuestion(question);
    return this.#queue.submit({
      group: `retrieve ${JSON.stringify(options)}`,
      input: question,
      signal,
      work: (questions: readonly string[], { signal }) =>
        hitLists(this.#model.retrieve(questions, this.#index, { ...options, signal })),
    });
  }

  async answer(request: AnswerRequest, call: Call): Promise<Reply<Hit>> {
    const { question, id: _, ...given } = request;
    const options = { ...given, unansweredFile: this.#unansweredFile };
    this.#checkQuestion(question);
    return this.#queue.submit({
      ...call,
      group: `answer ${JSON.stringify(options)}`,
      input: question,
      work: (questions: readonly string[], context) =>
        collect(this.#model.answer(questions, this.#index, { ...options, ...context })),
    });
  }

  async read(request: ReadRequest, call: Call): Promise<Reply<Passage>> {
    const { question, passages, id: _, ...options } = request;
    this.#checkQuestion(question);
    return this.#queue.submit({
      ...call,
      group: `read ${JSON.stringify(options)}`,
      input: { question, passages },
      work: (
        inputs: readonly Pick<ReadRequest, "question" | "passages">[],
        context: BatchContext,
      ) =>
        collect(
          this.#model.read(
            inputs.map(({ question }) => question),
            inputs.map(({ passages }) => passages),
            { ...options, ...context },
          ),
        ),
    });
  }

  /** Says which tokens of passages match. @throws {ApiError} `not_found` for an unknown id */
  async explain({ question, passages }: ExplainRequest, { signal }: Call): Promise<Explanation[]> {
    this.#checkQuestion(question);
    return this.#queue.submit({
      group: "explain",
      input: { question, passages },
      signal,
      work: async (
        inputs: readonly Pick<ExplainRequest, "question" | "passages">[],
        { signal },
      ) => {
        const all = [];
        for (const input of inputs) all.push(await this.#explainEach(input, signal));
        return all;
      },
    });
  }

  async #explainEach(
    { question, passages }: Pick<ExplainRequest, "question" | "passages">,
    signal: AbortSignal,
  ): Promise<Explanation[]> {
    const explanations = [];
    for (const passage of passages) {
      signal.throwIfAborted();
      const { id, collection } = passage;
      if ((await this.#index.find(id, collection)) === undefined) throw notFound();
      explanations.push(await this.#model.explain(question, passage, this.#index));
    }
    return explanations;
  }

  /**
   * Adds passages, or replaces those with the same ids; of equal ids, the last one counts. Later
   * requests see them.
   *
   * @throws {ApiError} `invalid_request` for a passage that the place of the index does not keep
   */
  async put({ passages, collection }: PutRequest, { signal }: Call): Promise<{ passages: number }> {
    const index = this.#indexOf(collection);
    const place = placeOf(index.directory);
    ofRequest(() => {
      for (const passage of passages) place.checkPassage(passage, "passages");
    });
    const last = new Map(passages.map((passage) => [passage.id, passage]));
    return this.#changeIndex(index, signal, async (directory) => {
      await (await this.#model.add([...last.values()], { directory, signal })).close();
    });
  }

  /** Deletes a passage. @throws {ApiError} `not_found` if there is none with this id */
  async delete(
    id: string,
    collection: string | undefined,
    { signal }: Call,
  ): Promise<{ passages: number }> {
    return this.#changeIndex(this.#indexOf(collection), signal, async (directory) => {
      if ((await deletePassages([id], { directory })) === 0) throw notFound();
    });
  }

  /** The index to change. @throws {ApiError} `not_found`; `invalid_request` if none is named */
  #indexOf(collection: string | undefined): TokenIndex {
    const { indexes } = this.#index;
    if (collection === undefined && indexes.length === 1) return indexes[0]!;
    const names = indexes.map((index) => index.collection);
    if (collection === undefined)
      throw new ApiError("invalid_request", `give collection, one of ${names.join(", ")}`);
    const named = indexes.find((index) => index.collection === collection);
    if (named) return named;
    throw noCollection(names);
  }

  /** The document or the passage of a name. @throws {ApiError} `not_found` */
  get(request: GetRequest, { signal }: Call): Promise<Found> {
    return this.#whenItsTurn(signal, async (generation, signal) =>
      getDocument(generation, await this.#catalogue(generation, signal), request, signal),
    );
  }

  /** The documents whose paths match. */
  multiGet(
    request: MultiGetRequest,
    { signal }: Call,
  ): Promise<{ documents: Found[]; omitted: string[] }> {
    return this.#whenItsTurn(signal, async (generation, signal) =>
      getDocuments(generation, await this.#catalogue(generation, signal), request, signal),
    );
  }

  /** The names of the documents. */
  documents({ signal }: Call): Promise<ReturnType<typeof listDocuments>> {
    return this.#whenItsTurn(signal, async (generation, signal) =>
      listDocuments(await this.#catalogue(generation, signal)),
    );
  }

  /** Questions that the passages answer, tried once for each generation. */
  questions({ signal }: Call): Promise<readonly string[]> {
    return this.#whenItsTurn(signal, async (generation, signal) => {
      const catalogue = await this.#catalogue(generation, signal);
      if (this.#suggested?.of !== catalogue) {
        const candidates = candidateQuestions(await generation.passages(catalogue.sample));
        const asked = candidates.map(({ question }) => question);
        const replies = await collect(this.#model.answer(asked, this.#index, { signal }));
        this.#suggested = { of: catalogue, questions: answeredQuestions(candidates, replies) };
      }
      return this.#suggested.questions;
    });
  }

  /** What the index has. */
  status({ signal }: Call): Promise<Status> {
    return this.#whenItsTurn(signal, async (generation, signal) => {
      const { counts, fields } = await this.#catalogue(generation, signal);
      const collections = await Promise.all(
        generation.members.map(async ({ collection: name, passageCount: passages, directory }) => {
          const changed = await placeOf(directory).folder?.changeTime();
          return { name, passages, documents: counts.get(name)!, ...(changed && { changed }) };
        }),
      );
      const { title, description } = this.collection;
      const changed = collections
        .map(({ changed = "" }) => changed)
        .sort()
        .at(-1);
      return {
        title,
        ...(description !== undefined && { description }),
        passages: generation.passageCount,
        documents: collections.reduce((sum, { documents }) => sum + documents, 0),
        ...(collections.length > 1 && { collections }),
        generation: generation.generation,
        ...(changed && { changed }),
        fields: fields.map(fieldToJson),
      };
    });
  }

  /** Work with the documents of a generation, which waits in the queue as questions do. */
  async #whenItsTurn<Result>(
    signal: AbortSignal,
    work: (generation: IndexGeneration, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#queue.submit({
      group: Symbol("documents"), // alone, so that its result does not wait for those of others
      input: undefined,
      signal,
      work: async (_: readonly undefined[], { signal }) => [
        await this.#index.snapshot((generation) => work(generation, signal)),
      ],
    });
  }

  /** That of the generation, which is read once. */
  async #catalogue(generation: IndexGeneration, signal: AbortSignal): Promise<Catalogue> {
    const reading = this.#catalogues.get(generation) ?? readCatalogue(generation);
    this.#catalogues.set(generation, reading);
    reading.catch(() => this.#catalogues.delete(generation));
    const catalogue = await reading;
    signal.throwIfAborted();
    return catalogue;
  }

  /** Waits for all requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.idle();
    await this.#change.catch(() => {});
  }

  /** One question that is too long would fail a batch. @throws {ApiError} `invalid_request` */
  #checkQuestion(question: string): void {
    ofRequest(() => retrievalQuestionIds(this.#model.tokenizer, question));
  }

  /**
   * Waits for the changes before. Beside them, as many may wait as questions.
   *
   * @throws {InputError} if another process changes the index
   */
  #changeIndex(
    index: TokenIndex,
    signal: AbortSignal,
    change: (directory: string) => Promise<void>,
  ): Promise<{ passages: number }> {
    if (this.#changes >= this.#maxChanges)
      throw new ApiError("overloaded", `${this.#changes} changes are waiting; try again later`);
    this.#changes++;
    const done = this.#change
      .catch(() => {})
      .then(async () => {
        signal.throwIfAborted();
        await change(index.directory);
        await index.refresh();
        return { passages: index.passageCount };
      })
      .finally(() => {
        this.#changes--;
      });
    this.#change = done;
    return done;
  }
}

const notFound = (): ApiError => new ApiError("not_found", "there is no passage with this id");

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const result of results) all.push(result);
  return all;
}
