/** The model that a run starts from: its folder, and what training of token keys needs of it. */

import type { DownloadProgress } from "../../hub/download.ts";
import { locateModel } from "../../hub/locate-model.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import type { ModelConfig } from "../../model/config.ts";

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

/**
 * @param where the model, or the option that needs the keys
 * @param reason why one vector is not enough
 * @throws {InputError} if the model has one vector for each text
 */
export function requireTokenKeys(
  { retrievalAttention: { pooling } }: ModelConfig,
  where: string,
  reason: string,
): void {
  if (pooling === undefined) return;
  throw new InputError({
    where,
    expected: "a model that retrieves by tokens",
    got: "one with a vector for each text (pooling)",
    remedy: `name another model: ${reason}`,
  });
}

/** @throws {InputError} for a model without keys of tokens, at which phrases begin and end */
export const requirePhraseKeys = (config: ModelConfig, where: string): void =>
  requireTokenKeys(config, where, "phrases begin and end with the keys of tokens");
