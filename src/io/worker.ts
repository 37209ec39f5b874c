/** Starts modules of this package in worker threads. */

import { type ResourceLimits, Worker } from "node:worker_threads";

/**
 * Starts the module `name`, without an extension, of the folder of the module `beside`.
 *
 * @param beside `import.meta.url` of the caller
 */
export function startWorker(
  name: string,
  beside: string,
  workerData: unknown,
  resourceLimits: ResourceLimits = {},
): Worker {
  const isSource = beside.endsWith(".ts");
  const module = new URL(`${name}${isSource ? ".ts" : ".js"}`, beside);
  if (!isSource) return new Worker(module, { workerData, resourceLimits });
  // tsx, which runs the sources in tests, does not reach workers by itself
  const tsx = import.meta.resolve("tsx/esm/api");
  const code = `import("${tsx}").then(({ register }) => (register(), import("${module}")))`;
  return new Worker(code, { eval: true, execArgv: [], workerData, resourceLimits });
}
