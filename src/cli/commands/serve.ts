/** `reatt serve`: answers over HTTP, and a page to ask in a browser. */

import { SERVER_OPTIONS } from "../../server/options.ts";
import { serve } from "../../server/serve.ts";
import { defineCommand } from "../line/command.ts";
import { ENGINE_OPTIONS, LINK_OPTION } from "../shared/engine.ts";
import { INDEXES, MODEL_OF_INDEX, STORE } from "../shared/file-options.ts";
import { runServer } from "../shared/run-server.ts";

export const serveCommand = defineCommand({
  options: {
    model: MODEL_OF_INDEX,
    index: INDEXES,
    store: STORE,
    ...SERVER_OPTIONS,
    ...LINK_OPTION,
    ...ENGINE_OPTIONS,
  },
  example: "reatt serve --index index --port 8080",
  endsBySignal: true,
  library: { serve },
  run: (values, signal, _, { serve }) => runServer(serve, values, signal),
});
