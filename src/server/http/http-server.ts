/** Listens, bounds what slow and silent clients can hold, and stops gracefully. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, Server } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { InputError, systemProblem } from "../../io/errors.ts";
import { Connections } from "./connections.ts";

/** Milliseconds that clients may take. */
export interface ClientLimits {
  /** To send the head of a request. */
  readonly head: number;
  /** To send a whole request. */
  readonly request: number;
  /** Without taking a byte of a reply. */
  readonly reply: number;
  /** Between two requests. */
  readonly idle: number;
  /** How often the limits are checked. */
  readonly check: number;
}

const CLIENT_LIMITS: ClientLimits = {
  head: 10_000,
  request: 30_000,
  reply: 30_000,
  idle: 15_000,
  check: 2_000,
};
const MAX_CONNECTIONS = 1_000;
/** A request that was sent before a stop arrives within this time, and is answered. */
const ARRIVAL_MS = 500;

export interface RunningServer {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The IP address that it listens on. */
  readonly address: string;
  /**
   * Accepts no further connections, finishes replies, and ends the connections that are left after
   * the time limit. Returns the number of requests that were not answered.
   */
  stop(): Promise<number>;
}

export interface App {
  fetch(request: Request, env: HttpBindings): Response | Promise<Response>;
  /** The reply to a request that cannot become a `Request`: with a bad target or host. */
  refuse(error: unknown, request: IncomingMessage): Response;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Milliseconds after which a stop ends the requests that are not answered. */
  readonly shutdownTimeout: number;
}

/** @throws {InputError} if the address cannot be used */
export async function startServer(
  app: App,
  { host, port, shutdownTimeout }: ListenOptions,
  limits: ClientLimits = CLIENT_LIMITS,
): Promise<RunningServer> {
  const connections = new Connections(limits.reply);
  const server = createServer(
    {
      headersTimeout: limits.head,
      requestTimeout: limits.request,
      keepAliveTimeout: limits.idle,
      connectionsCheckingInterval: limits.check,
    },
    (request, response) => {
      const { socket } = request;
      if (!server.listening) response.shouldKeepAlive = false;
      connections.begin(socket, response);
      response.once("close", () => {
        if (!server.listening) socket.destroySoon();
      });
      answer(app, request, response);
    },
  );
  server.on("connection", (socket) => connections.add(socket));
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, "listening").catch((cause: unknown) => {
    throw addressError(`${host}:${port}`, cause);
  });
  const checking = setInterval(() => connections.check(), limits.check).unref();
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { url: `http://${name}:${address.port}`, address: address.address, stop };

  async function stop(): Promise<number> {
    let unanswered = 0;
    const closed = once(server, "close");
    // Not the `close` of an HTTP server: it destroys connections whose reply is being sent, and no
    // longer checks the limits of slow clients.
    Server.prototype.close.call(server);
    const arrival = setTimeout(() => connections.endIdle(), ARRIVAL_MS);
    const last = setTimeout(() => {
      unanswered = connections.endAll();
    }, shutdownTimeout);
    await closed;
    for (const timer of [arrival, last, checking]) clearTimeout(timer);
    return unanswered;
  }
}

/** Every request gets a reply, unless its client has gone. */
function answer(app: App, request: IncomingMessage, response: ServerResponse): void {
  const listener = getRequestListener((given, env) => app.fetch(given, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: (error) => (response.destroyed ? undefined : app.refuse(error, request)),
  });
  listener(request, response);
}

const addressError = (where: string, cause: unknown): InputError => {
  const isTaken = (cause as NodeJS.ErrnoException).code === "EADDRINUSE";
  return new InputError(
    {
      where,
      expected: "a free address",
      got: isTaken ? "a port in use" : systemProblem(cause),
      remedy: "choose another --host or --port",
    },
    { cause },
  );
};
