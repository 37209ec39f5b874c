/** Maintenance of an index, in a folder or in a store. */

import { checkedIds, checkPath } from "../options/arguments.ts";
import { SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import type { IndexHeader } from "./index/format/manifest.ts";
import type { IndexInfo } from "./index/maintain/info.ts";
import { DELETE, type DeleteOptions } from "./index/maintain/update.ts";
import type { Damage } from "./index/maintain/verify.ts";
import { placeOf } from "./places/place-of.ts";

/**
 * Deletes passages by id. Ids that the index does not have are ignored. The passages take space
 * until `compactIndex`. In a store, they are gone at once.
 *
 * @returns the number of deleted passages
 * @throws {InputError} if there is no index, if the system refuses to write, or if another process
 * writes the index
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { deletePassages, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [
 *   { id: "1", title: "Normandy", text: "Normandy is a region in France." },
 *   { id: "2", title: "Oxygen", text: "Oxygen is a chemical element." },
 * ];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using before = await model.index(passages, { directory });
 * console.log(await deletePassages(["2", "3"], { directory })); // 1
 * await using after = await model.openIndex(directory);
 * console.log(before.passageCount, after.passageCount); // 2 1
 * ```
 */
export async function deletePassages(
  ids: AsyncIterable<string> | Iterable<string>,
  options: DeleteOptions,
): Promise<number> {
  const { directory, ...settings } = resolveOptions(DELETE, options);
  const checked = checkedIds(ids);
  await using place = placeOf(directory, settings);
  return await place.delete(checked);
}

/**
 * Reads the manifest of the index in `directory`: model, size, compression and deletions. It reads
 * no keys. Of a store, it reads the properties, the counts and the parts of the import.
 *
 * @throws {InputError} if there is no index or its manifest is damaged
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { indexInfo, ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [{ id: "1", title: "Oxygen", text: "Oxygen is a chemical element." }];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using _ = await model.index(passages, { directory });
 * const { passages: count, bits, generation } = await indexInfo(directory);
 * console.log(count, bits, generation); // 1 32 1
 * ```
 */
export async function indexInfo(directory: string): Promise<IndexInfo> {
  checkPath(directory, "directory");
  await using place = placeOf(directory);
  return await place.info();
}

/**
 * Reads all files of the index in `directory` and returns those that are damaged or missing. A
 * writer may change the index meanwhile. Of a store, it reads all passages.
 *
 * @param options `signal` stops the check
 * @throws {InputError} if there is no index, its manifest is damaged, or the process may not open
 * as many files
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt, verifyIndex } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const passages = [{ id: "1", title: "Oxygen", text: "Oxygen is a chemical element." }];
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * await using _ = await model.index(passages, { directory });
 * console.log(await verifyIndex(directory)); // []
 * ```
 */
export async function verifyIndex(
  directory: string,
  options?: { readonly signal?: AbortSignal | undefined },
): Promise<Damage[]> {
  checkPath(directory, "directory");
  await using place = placeOf(directory, resolveOptions(SIGNAL, options));
  return await place.verify();
}

/**
 * What the keys of an index belong to.
 *
 * @throws {InputError} if there is no index
 */
export async function readHeader(directory: string): Promise<IndexHeader> {
  await using place = placeOf(directory);
  return await place.header();
}
