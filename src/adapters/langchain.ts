/**
 * A retriever for LangChain.js. It needs the package `@langchain/core`.
 *
 * @module reatt/langchain
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { Document } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import { ensureConfig, type RunnableConfig } from "@langchain/core/runnables";
import { InputError } from "../io/errors.ts";
import { checkLoadedModel, checkObject, checkOpenIndexes } from "../options/arguments.ts";
import type { Hit, Indexes, ReAtt, Reply, RetrieveOptions } from "../reatt.ts";

export interface ReattRetrieverInput extends BaseRetrieverInput {
  /** A loaded model. */
  readonly model: ReAtt;
  /** An open index of the model, or several. */
  readonly index: Indexes;
  /** The number of documents, as in other retrievers. Default 4. */
  readonly k?: number;
  /**
   * Whether documents are the blocks that most probably answer, three at most, in place of whole
   * passages: a paragraph, a list, rows. There is none if no block is probable. Default false.
   */
  readonly blocks?: boolean;
  /** Other options of `ReAtt.retrieve`. */
  readonly retrieve?: RetrieveOptions;
}

/** That of LangChain's vector stores. */
const DOCUMENTS = 4;
/** The signal of a call: `BaseRetriever` does not hand it on. */
const signals = new AsyncLocalStorage<AbortSignal | undefined>();
/** What `BaseRetriever` takes, and this retriever. */
const FIELDS = [
  "model",
  "index",
  "k",
  "blocks",
  "retrieve",
  "callbacks",
  "tags",
  "metadata",
  "verbose",
];

/**
 * Retrieves passages of an index as documents. `id` and `pageContent` are those of the passage;
 * `metadata` has its metadata, its title, its document and its score side by side. The file of a
 * document is also its `source`, as LangChain's citations expect. Metadata of your own that is
 * called `title`, `document` or `score` stays as it is. With `blocks`, `pageContent` and `score`
 * are those of a block, and `kind` says what it is. The model and the index stay open.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 * import { ReattRetriever } from "reatt/langchain";
 *
 * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
 * const passages = [
 *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
 *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
 * ];
 * await using model = await ReAtt.load();
 * await using index = await model.index(passages, { directory });
 * const retriever = new ReattRetriever({ model, index, k: 1 });
 * const [document] = await retriever.invoke("Where does the Rhine flow?");
 * console.log(document!.metadata.title); // Rhine
 * ```
 */
export class ReattRetriever extends BaseRetriever {
  static override lc_name(): string {
    return "ReattRetriever";
  }

  lc_namespace: string[] = ["reatt", "langchain"];
  readonly #model: ReattRetrieverInput["model"];
  readonly #index: Indexes;
  readonly #blocks: boolean;
  readonly #options: RetrieveOptions;

  /** @throws {InputError} if there is no model or no index, or an option is unknown */
  constructor(input: ReattRetrieverInput) {
    checkObject(input, "new ReattRetriever", "{ model, index, k, blocks, retrieve }");
    const { model, index, k, blocks = false, retrieve, ...fields } = input;
    checkLoadedModel(model, ["retrieve"]);
    checkOpenIndexes(index, ["searchBatch"]);
    checkFields(input);
    super(fields);
    this.#model = model;
    this.#index = index;
    this.#blocks = blocks;
    this.#options = { ...retrieve, topK: k ?? retrieve?.topK ?? DOCUMENTS };
  }

  /** Ends with the reason of `signal`, or of `timeout`, when that comes first. */
  override async invoke(question: string, options?: Partial<RunnableConfig>): Promise<Document[]> {
    const config = ensureConfig(options);
    config.signal?.throwIfAborted();
    return signals.run(config.signal, () => super.invoke(question, config));
  }

  /** The method that `invoke` calls. */
  override async _getRelevantDocuments(question: string): Promise<Document[]> {
    const given = [signals.getStore(), this.#options.signal].filter((one) => one !== undefined);
    const signal = given.length > 1 ? AbortSignal.any(given) : given[0];
    const options = { ...this.#options, signal };
    if (this.#blocks) return blocksOf(await this.#model.answer(question, this.#index, options));
    const hits = await this.#model.retrieve(question, this.#index, options);
    return hits.map((hit) => documentOf(hit));
  }
}

function documentOf({ id, text, metadata, ...others }: Hit): Document {
  const source = metadata?._source !== undefined && { source: metadata._source };
  return new Document({ id, pageContent: text, metadata: { ...source, ...others, ...metadata } });
}

/** The blocks that answer, with the metadata of their passages. */
function blocksOf({ evidence, passages }: Reply<Hit>): Document[] {
  return evidence.map(({ span: _, signals: __, start: ___, end: ____, ...block }) => {
    const { metadata } = passages.find(({ id }) => id === block.id) ?? {};
    return documentOf({ ...block, ...(metadata && { metadata }) });
  });
}

/** @throws {InputError} for an unknown option, and for two numbers of documents */
function checkFields(input: ReattRetrieverInput): void {
  const unknown = Object.keys(input).find((name) => !FIELDS.includes(name));
  const expected = `options among ${FIELDS.join(", ")}`;
  if (unknown !== undefined)
    throw wrongOptions(expected, `"${unknown}"`, "correct the name, or put it into retrieve");
  if (input.k !== undefined && input.retrieve?.topK !== undefined)
    throw wrongOptions("k or retrieve.topK", "both", "leave one out");
}

const wrongOptions = (expected: string, got: string, remedy: string): InputError =>
  new InputError({ where: "new ReattRetriever", expected, got, remedy });
