/** The routes of the server. */

import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { type Context, Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { ApiError, type ApiErrorCode } from "../service/api-error.ts";
import { deadline } from "../service/deadline.ts";
import type { Log } from "../service/log.ts";
import type { ReportError } from "../service/report-error.ts";
import {
  ANSWER_REQUEST,
  EXPLAIN_REQUEST,
  GET_REQUEST,
  MULTI_GET_REQUEST,
  PUT_REQUEST,
  READ_REQUEST,
  RETRIEVE_REQUEST,
} from "../service/requests.ts";
import {
  documentToJson,
  explanationsToJson,
  replyToJson,
  retrievalToJson,
} from "../service/results.ts";
import type { Call, Service } from "../service/service.ts";
import type { KeyCheck } from "./api-keys.ts";
import { BodyReader } from "./body.ts";
import { checkHost, checkKey, checkOrigin } from "./checks.ts";
import type { Env } from "./env.ts";
import { streamEvents } from "./events.ts";
import type { Metrics } from "./metrics.ts";
import { describeApi } from "./openapi.ts";
import { loadPage } from "./page.ts";
import { record } from "./record.ts";
import type { ReplyBudget } from "./reply-budget.ts";
import { ROUTES } from "./routes.ts";

/** No inline scripts, no other hosts, and frames of these sites only. */
const contentSecurityPolicy = (frameAncestors: readonly string[]) => ({
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: frameAncestors.length === 0 ? ["'none'"] : [...frameAncestors],
});

export interface AppOptions {
  readonly service: Service;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly report: ReportError;
  readonly version: string;
  /** Undefined: requests need no key. */
  readonly isKey: KeyCheck | undefined;
  readonly writable: boolean;
  /** Milliseconds after which a request fails. */
  readonly timeout: number;
  /** The names that requests may call the server by, beside `localhost` and all addresses. */
  readonly hostNames: readonly string[];
  /** The sites whose pages may embed the page. */
  readonly frameAncestors: readonly string[];
  /** Counts the bytes of replies. */
  readonly replies: ReplyBudget;
  /** Handles the Model Context Protocol at `/mcp`. */
  readonly mcp: McpHttpHandler["fetch"];
}

/** When a client can try again. A store that starts again needs some seconds. */
const RETRY_AFTER_S: Partial<Record<ApiErrorCode, number>> = { overloaded: 1, unavailable: 5 };

export function createApp(options: AppOptions): Hono<Env> {
  const { frameAncestors, hostNames, isKey, log, metrics, replies, report } = options;
  const bodies = new BodyReader();
  const app = new Hono<Env>();
  app.use(requestId(), record(log, metrics));
  app.use((c, next) => replies.during(c.env, next));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: (c, methods) => notAllowed(c, methods) }));
  app.use(
    secureHeaders({
      contentSecurityPolicy: contentSecurityPolicy(frameAncestors),
      // It has no list of sites; the policy above has.
      xFrameOptions: frameAncestors.length === 0,
      strictTransportSecurity: false, // the proxy that adds TLS decides
    }),
  );
  app.use(checkHost(hostNames), checkOrigin);
  for (const path of ["/v1/*", "/mcp", "/metrics", "/openapi.json"]) app.use(path, checkKey(isKey));
  addPages(app);
  addOperations(app, options);
  addQuestions(app, bodies, options);
  addDocuments(app, bodies, options);
  if (options.writable) addChanges(app, bodies, options);
  addMcp(app, bodies, options);
  app.notFound((c) => respond(c, new ApiError("not_found", "there is no such path")));
  app.onError((error, c) => {
    const shown = report(error, c.get("requestId"));
    const retryAfter = RETRY_AFTER_S[shown.code];
    if (retryAfter !== undefined) c.header("Retry-After", String(retryAfter));
    return respond(c, shown);
  });
  return app;
}

/** The page and its files. */
function addPages(app: Hono<Env>): void {
  for (const { path, type, contents } of loadPage())
    app.get(path, (c) =>
      c.body(contents, 200, { "Content-Type": type, "Cache-Control": "no-cache" }),
    );
}

/** What those who run the server ask. */
function addOperations(app: Hono<Env>, options: AppOptions): void {
  const { service, metrics, version, isKey, writable } = options;
  const shown = ROUTES.filter(({ writes }) => writable || !writes);
  // one text for all: a client can ask many times and read nothing
  const description = JSON.stringify(describeApi(shown, version, isKey !== undefined));
  app.get("/healthz", (c) =>
    c.json({ status: "ok", passages: service.passageCount, generation: service.generation }),
  );
  app.get("/readyz", async (c) => {
    await service.checkReady();
    return c.json({ status: "ready" });
  });
  app.get("/metrics", async (c) =>
    c.body(await metrics.render(), 200, { "Content-Type": metrics.contentType }),
  );
  app.get("/openapi.json", (c) => c.body(description, 200, { "Content-Type": "application/json" }));
}

function addQuestions(
  app: Hono<Env>,
  bodies: BodyReader,
  { service, timeout, report, replies }: AppOptions,
): void {
  /** Sends a reply as JSON, or as events if the client asks for them. */
  const reply = async (
    c: Context<Env>,
    work: (onText: ((text: string) => void) | undefined) => Promise<object>,
  ): Promise<Response> =>
    c.req.header("Accept")?.includes("text/event-stream")
      ? streamEvents(work, {
          onReply: (bytes) => replies.take(bytes),
          onError: (error) => report(error, c.get("requestId")),
        })
      : send(c, replies, await work(undefined));
  app.post("/v1/retrieve", async (c) => {
    const request = await bodies.options(c, RETRIEVE_REQUEST);
    const hits = await service.retrieve(request, callOf(c, timeout));
    return send(c, replies, retrievalToJson(request.id, hits));
  });
  app.post("/v1/answer", async (c) => {
    const request = await bodies.options(c, ANSWER_REQUEST);
    return reply(c, async (onText) => {
      const call = { ...callOf(c, timeout), onText };
      return replyToJson(request.id, await service.answer(request, call));
    });
  });
  app.post("/v1/read", async (c) => {
    const request = await bodies.options(c, READ_REQUEST);
    return reply(c, async (onText) => {
      const call = { ...callOf(c, timeout), onText };
      return replyToJson(request.id, await service.read(request, call));
    });
  });
  app.post("/v1/explain", async (c) => {
    const request = await bodies.options(c, EXPLAIN_REQUEST);
    const explanations = await service.explain(request, callOf(c, timeout));
    return send(c, replies, explanationsToJson(request.id, request.passages, explanations));
  });
}

/** What the index has, and its documents. */
function addDocuments(
  app: Hono<Env>,
  bodies: BodyReader,
  { service, timeout, replies }: AppOptions,
): void {
  app.get("/v1/status", async (c) => send(c, replies, await service.status(callOf(c, timeout))));
  app.get("/v1/documents", async (c) =>
    send(c, replies, await service.documents(callOf(c, timeout))),
  );
  app.get("/v1/questions", async (c) =>
    send(c, replies, { questions: await service.questions(callOf(c, timeout)) }),
  );
  app.post("/v1/get", async (c) => {
    const request = await bodies.options(c, GET_REQUEST);
    return send(c, replies, documentToJson(await service.get(request, callOf(c, timeout))));
  });
  app.post("/v1/multi-get", async (c) => {
    const request = await bodies.options(c, MULTI_GET_REQUEST);
    const { documents, omitted } = await service.multiGet(request, callOf(c, timeout));
    return send(c, replies, { documents: documents.map(documentToJson), omitted });
  });
}

function addChanges(app: Hono<Env>, bodies: BodyReader, { service, timeout }: AppOptions): void {
  app.put("/v1/passages", async (c) => {
    const request = await bodies.options(c, PUT_REQUEST);
    return c.json(await service.put(request, callOf(c, timeout)));
  });
  app.delete("/v1/passages", async (c) => {
    const id = c.req.query("id");
    if (id === undefined) throw new ApiError("invalid_request", "id: expected ?id=ID, got nothing");
    return c.json(await service.delete(id, c.req.query("collection"), callOf(c, timeout)));
  });
  // An id can contain slashes.
  app.delete("/v1/passages/:id{.+}", async (c) =>
    c.json(await service.delete(c.req.param("id"), c.req.query("collection"), callOf(c, timeout))),
  );
}

function addMcp(app: Hono<Env>, bodies: BodyReader, { mcp }: AppOptions): void {
  app.post("/mcp", async (c) => mcp(c.req.raw, { parsedBody: await bodies.json(c) }));
  app.all("/mcp", (c) => mcp(c.req.raw));
}

/** @throws {ApiError} `overloaded` if too many replies wait for their clients */
function send(c: Context<Env>, replies: ReplyBudget, value: object): Response {
  const text = JSON.stringify(value);
  replies.take(Buffer.byteLength(text));
  return c.body(text, 200, { "Content-Type": "application/json" });
}

/** Ends a request whose client has gone or that takes too long. */
function callOf(c: Context<Env>, timeout: number): Call {
  const gone = new AbortController();
  const limit = deadline(timeout, gone.signal);
  const { outgoing } = c.env;
  const end = (): void => {
    limit[Symbol.dispose]();
    gone.abort(new ApiError("cancelled", "the client has gone"));
  };
  if (outgoing.destroyed) end();
  else outgoing.once("close", end);
  return { signal: limit.signal };
}

const respond = (c: Context, error: ApiError): Response => c.json(error, error.status as 400);

function notAllowed(c: Context, methods: readonly string[]): Response {
  c.header("Allow", methods.join(", "));
  return respond(c, new ApiError("method_not_allowed", `use ${methods.join(" or ")}`));
}
