/** What the handlers of requests can use beside the request. */

import type { HttpBindings } from "@hono/node-server";
import type { RequestIdVariables } from "hono/request-id";

export interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: RequestIdVariables;
}
