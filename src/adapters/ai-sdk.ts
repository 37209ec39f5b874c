/**
 * A reranking model and a tool for the AI SDK (the package `ai`), versions 6 and 7. It has the
 * types that the SDK expects by their structure and does not import it.
 *
 * @module reatt/ai-sdk
 */

import { basename } from "node:path";
import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import {
  checkLoadedModel,
  checkObject,
  checkOpenIndexes,
  checkQuestion,
} from "../options/arguments.ts";
import type { ContextOptions, Hit, Indexes, ReAtt, RetrieveOptions } from "../reatt.ts";
import { parseWhere } from "../retrieval/where/parse-where.ts";
import type { Where } from "../retrieval/where/where.ts";

/** Source: `RerankingModelV3CallOptions` of `@ai-sdk/provider`. */
export interface RerankingCall {
  readonly documents:
    | { readonly type: "text"; readonly values: readonly string[] }
    | { readonly type: "object"; readonly values: readonly object[] };
  readonly query: string;
  readonly topN?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Source: `RerankingModelV3` of `@ai-sdk/provider`. */
export interface RerankingModel {
  readonly specificationVersion: "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly doRerank: (call: RerankingCall) => Promise<{
    /** Best first, with the positions in the list of documents. */
    ranking: { index: number; relevanceScore: number }[];
  }>;
}

/**
 * A reranking model for `rerank` of the AI SDK. Documents are texts, or objects with the fields
 * `title` and `text`; other objects are scored by their JSON. The relevance score is the score of
 * `ReAtt.rerank`.
 *
 * @example
 * ```ts
 * import { rerank } from "ai";
 * import { ReAtt } from "reatt";
 * import { rerankingModel } from "reatt/ai-sdk";
 *
 * await using model = await ReAtt.load();
 * const { rerankedDocuments } = await rerank({
 *   model: rerankingModel(model),
 *   query: "Where does the Rhine flow?",
 *   documents: ["The lion lives in Africa.", "The Rhine flows to the North Sea."],
 * });
 * console.log(rerankedDocuments[0]); // The Rhine flows to the North Sea.
 * ```
 *
 * @throws {InputError} if there is no model
 */
export function rerankingModel(model: ReAtt): RerankingModel {
  checkLoadedModel(model, ["rerank"]);
  return {
    specificationVersion: "v3",
    provider: "reatt",
    modelId: basename(model.folder),
    async doRerank(call) {
      checkCall(call);
      const { documents, query, topN, abortSignal } = call;
      const passages = documents.values.map((value, index) => ({
        id: String(index),
        index,
        ...contentOf(value, `documents.values[${index}]`),
      }));
      const options = { topK: topN, signal: abortSignal };
      const ranked = await model.rerank(query, passages, options);
      return {
        ranking: ranked.map(({ index, score }) => ({ index, relevanceScore: score })),
      };
    },
  };
}

/** @throws {InputError} unless the documents are a list of texts or objects */
function checkCall(call: RerankingCall): void {
  checkObject(call, "doRerank", "{ documents, query }");
  checkObject(call.documents, "documents", "{ type, values }");
  const { values } = call.documents;
  if (!Array.isArray(values)) throw wrongDocuments("documents.values", "a list", values);
  for (const [i, value] of values.entries())
    if (typeof value !== "string" && (typeof value !== "object" || value === null))
      throw wrongDocuments(`documents.values[${i}]`, "text or an object", value);
}

const wrongDocuments = (where: string, expected: string, given: unknown): InputError =>
  new InputError({ where, expected, got: excerpt(given), remedy: `give ${expected}` });

function contentOf(document: string | object, where: string): { title: string; text: string } {
  if (typeof document === "string") return { title: "", text: document };
  const { title, text } = document as { title?: unknown; text?: unknown };
  return {
    title: typeof title === "string" ? title : "",
    text: typeof text === "string" ? text : jsonOf(document, where),
  };
}

/** @throws {InputError} for a cycle or a bigint, which JSON does not have */
function jsonOf(document: object, where: string): string {
  try {
    return JSON.stringify(document);
  } catch {
    throw wrongDocuments(where, "an object with text, or one that JSON can write", document);
  }
}

interface Described {
  /** What a model reads about the tool. Default: that it searches the documents of the user. */
  readonly description?: string;
}

/** Options of `searchTool`: those of `retrieve`, what the tool is for, and what it filters by. */
export interface SearchToolOptions extends RetrieveOptions, Described {
  /**
   * Fields of the metadata that the language model may filter by, each with what it means:
   * `{ year: "the year of the report, a number" }`. `where` of the options holds besides. Default:
   * none.
   */
  readonly filters?: Readonly<Record<string, string>>;
}

/** Options of `contextTool`: those of `context`, and what the tool is for. */
export interface ContextToolOptions extends ContextOptions, Described {}

/** What a language model gives a tool. */
export interface QuestionInput {
  /** A question, or key words. */
  readonly question: string;
  /** A condition on metadata, if the tool has filters: `year >= 2020`. */
  readonly where?: string | undefined;
}

/** A tool that takes a question. Source: `Tool` of `@ai-sdk/provider-utils`. */
export interface QuestionTool<Result> {
  readonly description: string;
  readonly inputSchema: z.ZodType<QuestionInput, QuestionInput>;
  readonly execute: (
    input: QuestionInput,
    call?: { readonly abortSignal?: AbortSignal | undefined },
  ) => Promise<Result>;
}

/** Default of `topK`: a language model pays for each token. */
const TOOL_PASSAGES = 5;

const DESCRIPTION = "Finds passages of the user's documents that answer a question, best first.";
const CONTEXT_DESCRIPTION =
  "Reads what the user's documents say on a question: numbered texts. Cite them as [1].";

/**
 * A tool with which a language model searches an index. Its result is a list of passages with
 * scores. `description` tells the language model when to use it: say what your documents are about.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 * import { searchTool } from "reatt/ai-sdk";
 *
 * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
 * const passages = [
 *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
 *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
 * ];
 * await using model = await ReAtt.load();
 * await using index = await model.index(passages, { directory });
 * const tools = { search: searchTool(model, index, { topK: 1 }) }; // for generateText({ tools })
 * const found = await tools.search.execute({ question: "Where does the Rhine flow?" }, {});
 * console.log(found[0]!.title); // Rhine
 * ```
 */
export function searchTool(
  model: ReAtt,
  index: Indexes,
  options: SearchToolOptions = {},
): QuestionTool<Hit[]> {
  checkArguments(model, index, options);
  const { description = DESCRIPTION, filters = {}, ...search } = options;
  checkObject(filters, "filters", "{ field: meaning }");
  const run = ({ question, where }: QuestionInput, signal: AbortSignal | undefined) => {
    const both = [search.where, where || undefined].filter((one) => one !== undefined);
    const narrowed = both.length > 1 ? { and: both.map(parsedWhere) } : both[0];
    const all = { topK: TOOL_PASSAGES, ...search, ...(narrowed && { where: narrowed }), signal };
    return model.retrieve(question, index, all);
  };
  return questionTool(description, run, filters);
}

const parsedWhere = (where: Where | string): Where =>
  typeof where === "string" ? parseWhere(where) : where;

/**
 * A tool with which a language model reads what answers a question: the text of `ReAtt.context`,
 * the best blocks with their numbers, titles and places. Empty if nothing is found.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 * import { contextTool } from "reatt/ai-sdk";
 *
 * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
 * const passages = [
 *   { id: "lion", title: "Lion", text: "The lion lives in Africa and in India." },
 *   { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
 * ];
 * await using model = await ReAtt.load();
 * await using index = await model.index(passages, { directory });
 * const tools = { look: contextTool(model, index, { maxTokens: 500 }) };
 * const text = await tools.look.execute({ question: "Where does the Rhine flow?" }, {});
 * console.log(text.split("\n")[0]); // [1] Rhine
 * ```
 */
export function contextTool(
  model: ReAtt,
  index: Indexes,
  options: ContextToolOptions = {},
): QuestionTool<string> {
  checkArguments(model, index, options);
  const { description = CONTEXT_DESCRIPTION, ...search } = options;
  return questionTool(description, async ({ question }, signal) => {
    return (await model.context(question, index, { ...search, signal })).text;
  });
}

function checkArguments(model: ReAtt, index: Indexes, options: object): void {
  checkLoadedModel(model, ["retrieve"]);
  checkOpenIndexes(index, ["searchBatch"]);
  checkObject(options, "options", "an object");
}

/** @param filters the fields that the language model may filter by */
function questionTool<Result>(
  description: string,
  run: (input: QuestionInput, signal: AbortSignal | undefined) => Promise<Result>,
  filters: Readonly<Record<string, string>> = {},
): QuestionTool<Result> {
  const fields = Object.entries(filters).map(([name, meaning]) => `${name} (${meaning})`);
  const where =
    `leave it out, or give a condition such as year >= 2020 and team = "Sales", of ` +
    fields.join(", ");
  const asked = z.object({ question: z.string().describe("a question or key words") });
  const narrowed = asked.extend({ where: z.string().optional().describe(where) });
  return {
    description,
    inputSchema: fields.length === 0 ? asked : narrowed,
    execute: async (input, call) => {
      checkObject(input, "input", "{ question }");
      checkQuestion(input.question);
      return run(input, call?.abortSignal);
    },
  };
}
