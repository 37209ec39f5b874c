/**
 * Search, answers and documents as tools of the Model Context Protocol
 * (https://modelcontextprotocol.io). Results have what an assistant reads and cites: no scores
 * before calibration, no token ids, no metadata that `place` already says.
 */

import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { resolveOptions } from "../options/resolve.ts";
import type { Assistant, ToolName } from "./options.ts";
import { ApiError } from "./service/api-error.ts";
import { deadline } from "./service/deadline.ts";
import type { ReportError } from "./service/report-error.ts";
import {
  ANSWER_REQUEST,
  GET_REQUEST,
  inputOf,
  MULTI_GET_REQUEST,
  RETRIEVE_REQUEST,
} from "./service/requests.ts";
import {
  DOCUMENT,
  DOCUMENTS,
  documentToJson,
  EVIDENCE,
  REPLY,
  RETRIEVAL,
  replyToJson,
  retrievalToJson,
  STATUS,
} from "./service/results.ts";
import type { Call, Service } from "./service/service.ts";
import { argumentsSchema, resultSchema } from "./tool-schema.ts";

/** Passages for an assistant. */
const SEARCH_TOP_K = 10;

/** What the tools are for, and when to use which. */
const INSTRUCTIONS =
  "search finds passages for a question in whole words or a phrase; answer returns the blocks that " +
  "answer it, with a quotation. get returns the document around a passage, multi_get " +
  "several. Cite title and place, or link. If nothing fits, say so.";

const DESCRIPTIONS: Readonly<Record<ToolName, string>> = {
  search: "Finds the best passages of the documents for a question.",
  answer:
    "Answers a question from the documents: as evidence the blocks that most probably answer it, " +
    "each with its probability and place, and as answer a short quotation, if one is probable. " +
    "Both are empty if the documents have no answer.",
  get:
    "Returns a document by its path or id, a part of it by lines, or a passage by its id. omitted " +
    "counts passages beyond maxBytes.",
  multi_get:
    "Returns the documents whose paths match patterns, up to a number of bytes. omitted names " +
    "those that did not fit.",
  status: "Says what the documents are: how many, how old, and the fields that where can compare.",
};

export interface McpOptions {
  readonly service: Service;
  readonly report: ReportError;
  readonly version: string;
  /** Milliseconds after which a call fails. */
  readonly timeout: number;
  /** Receives the bytes of each result. It may refuse it. */
  readonly onResult?: (bytes: number) => void;
  /** How the collection names and describes its tools. */
  readonly assistant?: Assistant | undefined;
}

/** What a passage has that is not for an assistant. `place` says what these fields of reatt say. */
const { scores: _, ...PASSAGE } = RETRIEVAL.shape.results.element.shape;
const passages = z.array(z.object(PASSAGE));
const collection = z.string().describe("What the documents are.");
const FOUND = z.object({ collection, results: passages });
const BLOCK = EVIDENCE.omit({ start: true, end: true, span: true });
const ANSWERED = REPLY.omit({ id: true, tokenIds: true, source: true, passages: true }).extend({
  collection,
  evidence: z.array(BLOCK),
});

const topK = RETRIEVE_REQUEST.topK.unwrap().default(SEARCH_TOP_K);
const SEARCH_INPUT = { ...inputOf(RETRIEVE_REQUEST, "search"), topK };
const ANSWER_INPUT = inputOf(ANSWER_REQUEST, "answer");

/** A server for one connection, or for one request over HTTP. */
export function createMcpServer(options: McpOptions): McpServer {
  const { service, version, assistant } = options;
  const { title, description } = service.collection;
  const about = description === undefined ? title : `${title}: ${description}`;
  const instructions = assistant?.instructions ?? `${about}\n\n${INSTRUCTIONS}`;
  const server = new McpServer({ name: "reatt", title, version }, { instructions });
  const add = registering(server, about, options);
  add("search", SEARCH_INPUT, FOUND, async (request, call) => {
    const hits = await service.retrieve(resolveOptions(RETRIEVE_REQUEST, request), call);
    return { collection: about, results: retrievalToJson("", hits).results.map(forAssistant) };
  });
  add("answer", ANSWER_INPUT, ANSWERED, async (request, call) => {
    const reply = await service.answer(resolveOptions(ANSWER_REQUEST, request), call);
    const { id: _, tokenIds: __, source: ___, passages: ____, ...shown } = replyToJson("", reply);
    const evidence = shown.evidence.map(({ start: _, end: __, span: ___, ...block }) => block);
    return { collection: about, ...shown, evidence };
  });
  add("get", GET_REQUEST, DOCUMENT, async (request, call) =>
    withoutInternals(documentToJson(await service.get(request, call))),
  );
  add("multi_get", MULTI_GET_REQUEST, DOCUMENTS, async (request, call) => {
    const { documents, omitted } = await service.multiGet(request, call);
    return { documents: documents.map(documentToJson).map(withoutInternals), omitted };
  });
  add("status", {}, STATUS, (_, call) => service.status(call));
  return server;
}

/** Registers tools, with the names and descriptions of the collection. */
function registering(server: McpServer, about: string, options: McpOptions) {
  const { report, timeout, assistant, onResult } = options;
  return <Shape extends z.ZodRawShape>(
    tool: ToolName,
    input: Shape,
    outputSchema: z.ZodObject,
    work: (
      request: z.output<z.ZodObject<Shape>>,
      call: Call,
    ) => Promise<Readonly<Record<string, unknown>>>,
  ): void => {
    const own = assistant?.tools?.[tool];
    const config = {
      annotations: { readOnlyHint: true, openWorldHint: false },
      description: own?.description ?? `${DESCRIPTIONS[tool]} Documents: ${about}`,
      inputSchema: argumentsSchema(asSent(input)),
      outputSchema: resultSchema(outputSchema),
    };
    server.registerTool(own?.name ?? tool, config, async (request, { mcpReq }) => {
      try {
        using limit = deadline(timeout, mcpReq.signal);
        const result = await work(request, limit);
        const text = JSON.stringify(result);
        onResult?.(2 * Buffer.byteLength(text)); // it is there twice, for clients of both kinds
        return { structuredContent: result, content: [textOf(text)] };
      } catch (error) {
        const problem = mcpReq.signal.aborted ? cancelled(error) : error;
        return { isError: true, content: [textOf(report(problem).message)] };
      }
    });
  };
}

/** Nobody waits for the result: the client has gone, or the server stops. */
const cancelled = (cause: unknown): ApiError =>
  new ApiError("cancelled", "the request was cancelled", { cause });

type Shown = z.output<typeof DOCUMENT>["passages"][number];

/** A passage with its id, text, place, link, score, and the fields that its document gave. */
function forAssistant({ metadata = {}, ...passage }: Shown & { score?: number | undefined }) {
  const { id, title, text, document, collection, place, link, score } = passage;
  const own = Object.entries(metadata).filter(([name]) => !name.startsWith("_"));
  return {
    ...{ id, title, text },
    ...(score !== undefined && { score }),
    ...(document !== undefined && { document }),
    ...(collection !== undefined && { collection }),
    ...(place !== undefined && { place }),
    ...(link !== undefined && { link }),
    ...(own.length > 0 && { metadata: Object.fromEntries(own) }),
  };
}

const withoutInternals = ({ passages, ...document }: z.output<typeof DOCUMENT>) => ({
  ...document,
  passages: passages.map(forAssistant),
});

const textOf = (text: string): { type: "text"; text: string } => ({ type: "text", text });

/**
 * Arguments as language models and their clients send them: `null`, or an empty text, for an
 * argument that is left out, `null` for a field of a passage, and a number or `true` as text.
 */
const asSent = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess((given) => {
    if (!isObject(given)) return given;
    const sent = Object.entries(given)
      .map(([name, value]) => [name, meant(shape[name], withoutNulls(value))] as const)
      .filter(([name, value]) => value !== null && !isLeftOut(shape[name], value));
    return Object.fromEntries(sent);
  }, z.strictObject(shape));

const isObject = (given: unknown): given is object => typeof given === "object" && given !== null;

/** An empty text where none is accepted, for an argument that can be absent. */
const isLeftOut = (schema: z.core.$ZodType | undefined, given: unknown): boolean =>
  given === "" && schema !== undefined && !accepts(schema, given) && accepts(schema, undefined);

/** A condition that cannot be parsed throws. */
function accepts(schema: z.core.$ZodType, given: unknown): boolean {
  try {
    return z.safeParse(schema, given).success;
  } catch {
    return false;
  }
}

/** Passages without fields that are `null`. */
function withoutNulls(given: unknown): unknown {
  if (!Array.isArray(given)) return given;
  return given.map((item) =>
    isObject(item) && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
      : item,
  );
}

/** What a text stands for where it is not accepted as text. */
function meant(schema: z.core.$ZodType | undefined, given: unknown): unknown {
  if (typeof given !== "string" || !schema || accepts(schema, given)) return given;
  try {
    const value: unknown = JSON.parse(given);
    return accepts(schema, value) ? value : given;
  } catch {
    return given;
  }
}
