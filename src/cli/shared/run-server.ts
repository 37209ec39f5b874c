/** Opens a model and an index, and serves them until a signal. */

import { once } from "node:events";
import { version } from "../../io/version.ts";
import type { Resolved } from "../../options/option.ts";
import type { ServerOptions } from "../../server/options.ts";
import type { serve } from "../../server/serve.ts";
import { logToStderr } from "../../server/service/log.ts";
import { type EngineValues, openToSearch } from "./engine.ts";
import type { INDEXES, MODEL_OF_INDEX } from "./file-options.ts";
import { loadModelFor } from "./load-model.ts";

type Values = ServerOptions &
  EngineValues &
  Resolved<{ readonly model: typeof MODEL_OF_INDEX; readonly index: typeof INDEXES }>;

/**
 * @param start that of the library
 * @param path what follows the address in the line that says where the server listens
 */
export async function runServer(
  start: typeof serve,
  values: Values,
  signal: AbortSignal,
  path = "",
): Promise<void> {
  await using model = await loadModelFor(values.index, values.model, signal);
  await using index = await openToSearch(model, values.index, values, signal);
  const server = await start({ ...values, model, index, log: logToStderr, version: version() });
  process.stderr.write(`Listening on ${server.url}${path}\n`);
  if (!signal.aborted) await once(signal, "abort");
  logToStderr("info", "stopping");
  const unanswered = await server.stop();
  if (unanswered > 0)
    logToStderr("warn", "stopped", { message: `${unanswered} requests were not answered in time` });
}
