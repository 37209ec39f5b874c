/** Listens, bounds what slow and silent clients can hold, and stops gracefully. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { InputError, systemProblem } from "../io/errors.ts";

/** Milliseconds that clients may take. */
export interface ClientLimits {
  /** To send the head of a request. */
  readonly head: number;
  /** To send a whole request. */
  readonly request: number;
  /** Between two requests. */
  readonly idle: number;
  /** How often the limits are checked. */
  readonly check: number;
}

const CLIENT_LIMITS: ClientLimits = { head: 10_000, request: 30_000, idle: 15_000, check: 2_000 };
const MAX_CONNECTIONS = 1_000;
/** A request that was sent before a stop arrives within this time, and is answered. */
const ARRIVAL_MS = 500;

export interface RunningServer {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Accepts no further connections, and resolves when all requests are answered. */
  stop(): Promise<void>;
}

/** @throws {InputError} if the address cannot be used */
export async function startServer(
  app: { fetch(request: Request, env: HttpBindings): Response | Promise<Response> },
  { host, port }: { readonly host: string; readonly port: number },
  limits: ClientLimits = CLIENT_LIMITS,
): Promise<RunningServer> {
  const listener = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: () => {}, // the client has gone; the app handles all other errors
  });
  /** Connections with a request that is not answered. */
  const answering = new Set<Socket>();
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
      answering.add(socket);
      response.once("close", () => {
        answering.delete(socket);
        if (!server.listening) socket.end();
      });
      listener(request, response);
    },
  );
  const connections = new Set<Socket>();
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, "listening").catch((cause: unknown) => {
    const remedy = "choose another --host or --port";
    const got =
      (cause as NodeJS.ErrnoException).code === "EADDRINUSE" ? "a port in use" : undefined;
    throw new InputError(
      {
        where: `${host}:${port}`,
        expected: "a free address",
        got: got ?? systemProblem(cause),
        remedy,
      },
      { cause },
    );
  });
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { url: `http://${name}:${address.port}`, stop };

  async function stop(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    const timer = setTimeout(() => {
      for (const socket of connections) if (!answering.has(socket)) socket.destroy();
    }, ARRIVAL_MS);
    await closed;
    clearTimeout(timer);
  }
}
