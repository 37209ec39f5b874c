/** Opens a token index for search. */

import { checkPath } from "../options/arguments.ts";
import { OPEN_OPTIONS } from "../options/library-options.ts";
import { callback, type Given, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { placeOf } from "./places/place-of.ts";
import type { SearchingModel } from "./places/searching-model.ts";
import type { TokenIndex } from "./search/token-index.ts";
import type { FillProgress } from "./search/token-search.ts";

const OPTIONS = {
  ...OPEN_OPTIONS,
  /** Receives how far `engine` has filled an index of its own. */
  onProgress: callback<(progress: FillProgress) => void>(),
  ...SIGNAL,
};

export interface OpenOptions
  extends Given<typeof OPEN_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof OPTIONS> {}

/**
 * Opens the newest generation of the index in `directory`, or the collection of a store at an
 * address.
 *
 * @param model that searches; the index must have its fingerprint
 * @throws {InputError} if there is no index, if it is damaged, if another model built it, or if an
 * option cannot be used
 */
export async function openIndex(
  directory: string,
  options?: OpenOptions,
  model?: SearchingModel,
): Promise<TokenIndex> {
  checkPath(directory, "directory");
  await using place = placeOf(directory);
  return await place.open({ ...resolveOptions(OPTIONS, options), model });
}
