/** The folder of the model that a run starts from. */

import type { DownloadProgress } from "../../hub/download.ts";
import { locateModel } from "../../hub/locate-model.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";

interface ModelOptions {
  readonly model?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);

/** The options with the folder of the model for its name. Downloads a model of the hub. */
export async function* withModelFolder<Options extends ModelOptions>(
  options: Options,
): AsyncGenerator<ProgressEvent, Options & { readonly model: string }> {
  const { model: name, signal } = options ?? {};
  // The given options are not checked yet.
  if (name !== undefined && typeof name !== "string") return options as Options & { model: string };
  const model = yield* reporting<ProgressEvent, string>((report) =>
    locateModel(name, { signal, onProgress: asEvents(report) }),
  );
  return { ...options, model };
}

/** A stage that counts megabytes. */
function asEvents(report: (event: ProgressEvent) => void): (progress: DownloadProgress) => void {
  let last: number | undefined;
  return (progress) => {
    if (progress.event === "waiting")
      return report({ type: "stage", name: `waiting for a download of ${progress.model}` });
    const done = megabytes(progress.bytes);
    const name = `downloading ${progress.model}, in MB`;
    if (last === undefined) report({ type: "stage", name, total: megabytes(progress.total) });
    if (last !== done) report({ type: "progress", done });
    last = done;
  };
}
