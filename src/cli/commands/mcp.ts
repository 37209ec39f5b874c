/** `reatt mcp`: tools for assistants over standard input and output, or over HTTP. */

import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { version } from "../../io/version.ts";
import { withDerivedDefault } from "../../options/option.ts";
import { createMcpServer } from "../../server/mcp.ts";
import { SERVER_OPTIONS } from "../../server/options.ts";
import { collectionOf, serve } from "../../server/serve.ts";
import { logToStderr } from "../../server/service/log.ts";
import { errorReporter } from "../../server/service/report-error.ts";
import { Service } from "../../server/service/service.ts";
import { shortMessages } from "../../server/short-messages.ts";
import { defineCommand } from "../line/command.ts";
import { ENGINE_OPTIONS, LINK_OPTION, openToSearch } from "../shared/engine.ts";
import { INDEXES, MODEL_OF_INDEX, STORE } from "../shared/file-options.ts";
import { loadModelFor } from "../shared/load-model.ts";
import { runServer } from "../shared/run-server.ts";

/** Bytes of a message. */
const MAX_MESSAGE_BYTES = 10_000_000;

const { port, writable: _, ...serverOptions } = SERVER_OPTIONS;

export const mcpCommand = defineCommand({
  options: {
    model: MODEL_OF_INDEX,
    index: INDEXES,
    store: STORE,
    ...serverOptions,
    ...LINK_OPTION,
    ...ENGINE_OPTIONS,
    port: withDerivedDefault(port, "standard input and output, without HTTP"),
  },
  example: "reatt mcp --index index",
  endsBySignal: true,
  library: { serve },
  async run({ port, ...values }, signal, _, { serve }) {
    if (port !== undefined)
      return runServer(serve, { ...values, port, writable: false }, signal, "/mcp");
    await using model = await loadModelFor(values.index, values.model, signal);
    await using index = await openToSearch(model, values.index, values, signal);
    const collection = collectionOf(index, values);
    const { queue, unansweredFile } = values;
    const served = { model, index, collection, queue, unansweredFile };
    await using service = await Service.start(served);
    const report = errorReporter(logToStderr);
    const { assistant } = values;
    const timeout = values.timeout * 1000;
    const options = { service, report, version: version(), timeout, assistant };
    const messages = shortMessages(MAX_MESSAGE_BYTES, (answer) => {
      process.stdout.write(`${JSON.stringify(answer)}\n`);
    });
    const transport = new StdioServerTransport(messages);
    const connection = serveStdio(() => createMcpServer(options), { transport });
    const ended = pipeline(process.stdin, messages).catch(() => {}); // the client has gone
    if (!signal.aborted) await Promise.race([ended, once(signal, "abort")]);
    await connection.close();
    process.stdin.destroy();
  },
});
