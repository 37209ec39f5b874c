/** Records each request in the log and in the metrics when its response has ended. */

import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { Log } from "../service/log.ts";
import type { Env } from "./env.ts";
import type { Metrics } from "./metrics.ts";

/** The status of a request whose client has gone, as in the log of nginx. */
const CLIENT_GONE = 499;

export const record =
  (log: Log, metrics: Metrics): MiddlewareHandler<Env> =>
  async (c, next) => {
    const started = performance.now();
    const end = metrics.startRequest();
    const { outgoing } = c.env;
    const { method, path } = c.req;
    let route = "";
    outgoing.once("close", () => {
      const milliseconds = performance.now() - started;
      const status = outgoing.writableFinished ? outgoing.statusCode : CLIENT_GONE;
      end(route, status, milliseconds / 1000);
      const id = c.get("requestId");
      log("info", "request", { id, method, path, status, ms: Math.round(milliseconds) });
    });
    await next();
    route = routePath(c, -1);
  };
