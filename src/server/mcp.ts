/**
 * Search, answer and read as tools of the Model Context Protocol (https://modelcontextprotocol.io).
 */

import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { deadline } from "./deadline.ts";
import type { ReportError } from "./report-error.ts";
import { ANSWER_REQUEST, READ_REQUEST, RETRIEVE_REQUEST } from "./requests.ts";
import { REPLY, RETRIEVAL, replyToJson, retrievalToJson } from "./results.ts";
import type { Call, Service } from "./service.ts";

/** Passages for an assistant: as many as `answer` reads. */
const SEARCH_TOP_K = 10;

export interface McpOptions {
  readonly service: Service;
  readonly report: ReportError;
  readonly version: string;
  /** Milliseconds after which a call fails. */
  readonly timeout: number;
}

/** A server for one connection, or for one request over HTTP. */
export function createMcpServer({ service, report, version, timeout }: McpOptions): McpServer {
  const server = new McpServer({ name: "reatt", version });
  const annotations = { readOnlyHint: true, openWorldHint: false };
  const callTool = async (
    signal: AbortSignal,
    work: (call: Call) => Promise<Record<string, unknown>>,
  ): Promise<ToolResult> => {
    try {
      using limit = deadline(timeout, signal);
      const result = await work(limit);
      return { structuredContent: result, content: [textOf(JSON.stringify(result))] };
    } catch (error) {
      return { isError: true, content: [textOf(report(error).message)] };
    }
  };
  server.registerTool(
    "search",
    {
      title: "Search",
      annotations,
      outputSchema: RETRIEVAL,
      description: "Finds the best passages of the user's documents for a question.",
      inputSchema: asSent({
        ...RETRIEVE_REQUEST,
        topK: RETRIEVE_REQUEST.topK.unwrap().default(SEARCH_TOP_K),
      }),
    },
    (request, { mcpReq }) =>
      callTool(mcpReq.signal, async (call) =>
        retrievalToJson(request.id, await service.retrieve(request, call)),
      ),
  );
  server.registerTool(
    "answer",
    {
      title: "Answer",
      annotations,
      outputSchema: REPLY,
      description:
        "Answers a question from the user's documents: a short answer with its confidence and the " +
        "passages that it comes from.",
      inputSchema: asSent(ANSWER_REQUEST),
    },
    (request, { mcpReq }) =>
      callTool(mcpReq.signal, async (call) =>
        replyToJson(request.id, await service.answer(request, call)),
      ),
  );
  server.registerTool(
    "read",
    {
      title: "Read",
      annotations,
      outputSchema: REPLY,
      description: "Answers a question from the passages of the request.",
      inputSchema: asSent(READ_REQUEST),
    },
    (request, { mcpReq }) =>
      callTool(mcpReq.signal, async (call) =>
        replyToJson(request.id, await service.read(request, call)),
      ),
  );
  return server;
}

interface ToolResult {
  [key: string]: unknown;
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { type: "text"; text: string }[];
}

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
