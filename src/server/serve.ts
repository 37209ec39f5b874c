/** Runs a server until it is stopped: the service, the routes and the listening socket. */

import { createMcpHandler } from "@modelcontextprotocol/server";
import type { ReAtt } from "../reatt.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { readApiKeys } from "./http/api-keys.ts";
import { createApp } from "./http/app.ts";
import { type ClientLimits, startServer } from "./http/http-server.ts";
import { createMetrics } from "./http/metrics.ts";
import { refuser } from "./http/refuse.ts";
import { ReplyBudget } from "./http/reply-budget.ts";
import { createMcpServer } from "./mcp.ts";
import type { ServerOptions } from "./options.ts";
import type { Log } from "./service/log.ts";
import { errorReporter } from "./service/report-error.ts";
import { type CollectionInfo, Service } from "./service/service.ts";

/** How often the server looks for a newer generation of the index, such as `reatt sync` makes. */
const REFRESH_MS = 2_000;

export interface ServeOptions extends ServerOptions {
  readonly model: ReAtt;
  /** The caller closes it after the server has stopped. */
  readonly index: TokenIndex;
  readonly log: Log;
  readonly version: string;
  /** Limits for slow clients. The defaults suit the internet. */
  readonly clientLimits?: ClientLimits;
}

export interface Serving {
  readonly url: string;
  /**
   * Completes the requests that are running, within the time limit of a stop. Returns how many were
   * not answered.
   */
  stop(): Promise<number>;
}

/** @throws {InputError} if the address or the file of keys cannot be used */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { model, index, log, version, host, port, queue, writable } = options;
  const isKey =
    options.apiKeyFile === undefined ? undefined : await readApiKeys(options.apiKeyFile);
  const metrics = createMetrics(() => service);
  const collection = collectionOf(index, options);
  const onBatch = metrics.countBatch;
  const { unansweredFile } = options;
  const served = { model, index, collection, queue, unansweredFile, onBatch };
  const service = await Service.start(served);
  const timeout = options.timeout * 1000;
  const may = writable ? "can ask, and change the index" : "can ask";
  const report = errorReporter(log);
  const { assistant } = options;
  const replies = new ReplyBudget();
  const onResult = (bytes: number): void => replies.take(bytes);
  const tools = { service, report, version, timeout, assistant, onResult };
  const mcp = createMcpHandler(() => createMcpServer(tools));
  const app = createApp({
    service,
    metrics,
    log,
    report,
    version,
    isKey,
    writable,
    timeout,
    hostNames: [host, ...options.allowedHost],
    frameAncestors: options.frameAncestors,
    replies,
    mcp: mcp.fetch,
  });
  const server = await startServer(
    { fetch: app.fetch, refuse: refuser(log, metrics, report) },
    { host, port, shutdownTimeout: options.shutdownTimeout * 1000 },
    options.clientLimits,
  );
  if (!isLoopback(server.address) && !isKey)
    log("warn", "open", { message: `anyone who reaches this address ${may}; see --api-key-file` });
  const stopRefreshing = refreshRegularly(index, log);
  return {
    url: server.url,
    async stop() {
      stopRefreshing();
      const unanswered = await server.stop();
      await mcp.close();
      await service[Symbol.asyncDispose]();
      return unanswered;
    },
  };
}

/** What the documents of an index are called: its collections, unless there is a title. */
export const collectionOf = (
  index: TokenIndex,
  { title = index.collection, description }: Pick<ServerOptions, "title" | "description">,
): CollectionInfo => ({ title, description });

/** Moves to newer generations of the index, which other processes make. */
function refreshRegularly(index: TokenIndex, log: Log): () => void {
  const timer = setInterval(async () => {
    try {
      if (await index.refresh()) log("info", "refreshed", { passages: index.passageCount });
    } catch (error) {
      log("error", "refresh", { message: (error as Error).message });
    }
  }, REFRESH_MS);
  return () => clearInterval(timer);
}

/** Whether only this computer reaches an address. */
const isLoopback = (address: string): boolean =>
  address === "::1" || /^(::ffff:)?127\./i.test(address);
