/** Finds the folder of a model by its name. */

import { stat } from "node:fs/promises";
import { type DownloadOptions, downloadModel } from "./download.ts";
import { EMBEDDED_MODEL, parseHubName } from "./model-name.ts";

/**
 * The folder of a model: the embedded model without a name, a folder of that name, or a model of
 * the Hugging Face hub by its name `ORG/NAME[@REVISION]`, which is downloaded if it is not in the
 * cache.
 *
 * @throws {InputError} if a model of the hub cannot be had. A folder is not checked.
 */
export async function locateModel(
  name: string | undefined,
  options: DownloadOptions = {},
): Promise<string> {
  if (name === undefined) return EMBEDDED_MODEL;
  const model = parseHubName(name);
  if (!model || (await exists(name))) return name;
  return downloadModel(model, options);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
