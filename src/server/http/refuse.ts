/** Replies to requests that no route sees: those that cannot become a `Request`. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { RequestError } from "@hono/node-server";
import { ApiError } from "../service/api-error.ts";
import type { Log } from "../service/log.ts";
import type { ReportError } from "../service/report-error.ts";
import type { Metrics } from "./metrics.ts";

const MAX_LOGGED = 200; // characters of a path

/** Answers a request with a bad target or host, or whose handler has failed, and records it. */
export const refuser =
  (log: Log, metrics: Metrics, report: ReportError) =>
  (error: unknown, { method, url = "" }: IncomingMessage): Response => {
    const id = randomUUID();
    const shown = report(error instanceof RequestError ? badTarget() : error, id);
    const { status } = shown;
    metrics.startRequest()("", status, 0);
    const [path] = url.slice(0, MAX_LOGGED).split(/[?#]/, 1); // the rest can be a question
    log("info", "request", { id, method, path, status, ms: 0 });
    return Response.json(shown, { status, headers: { connection: "close" } });
  };

const badTarget = (): ApiError =>
  new ApiError("invalid_request", "the target or the header Host of the request is not valid");
