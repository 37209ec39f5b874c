/** `reatt serve`: answers over HTTP, and a page to ask in a browser. */

import { SERVER_OPTIONS } from "../server/options.ts";
import { defineCommand } from "./command.ts";
import { ENGINE_OPTIONS, LINK_OPTION } from "./engine.ts";
import { INDEX, MODEL, STORE } from "./file-options.ts";
import { runServer } from "./run-server.ts";

export const serveCommand = defineCommand({
  options: {
    model: MODEL,
    index: INDEX,
    store: STORE,
    ...SERVER_OPTIONS,
    ...LINK_OPTION,
    ...ENGINE_OPTIONS,
  },
  example: "reatt serve --index index --port 8080",
  endsBySignal: true,
  run: (values, signal) => runServer(values, signal),
});
