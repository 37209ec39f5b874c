/** An open index of a model: it is searched, and changed with the same object. */

import { checkedIds } from "../options/arguments.ts";
import { resolveOptions } from "../options/resolve.ts";
import { type OpenOptions, openIndex } from "../retrieval/open-index.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import type { DocumentChanges } from "../sync/documents.ts";
import type { DocumentInput, PassageInput } from "../text/passage.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { REMOVE, type RemoveOptions, SYNC, UPSERT, type UpsertOptions } from "./options.ts";

/**
 * An open index that can be changed. Later questions to this object see the change, and so do those
 * to other open indexes of the folder.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { type OpenIndex, ReAtt } from "reatt";
 *
 * const directory = mkdtempSync(join(tmpdir(), "reatt-"));
 * const guide = { id: "guide", content: "# Guide\n\nPress the green key.", format: "markdown" };
 * await using model = await ReAtt.load();
 * await using index: OpenIndex = await model.openOrIndex([guide], { directory });
 * await index.upsert([{ ...guide, content: "# Guide\n\nPress the red key." }]);
 * const { answer } = await model.answer("Which key must I press?", index);
 * console.log(answer, await index.remove("guide"), index.passageCount);
 * ```
 */
export interface OpenIndex extends TokenIndex {
  /**
   * Adds documents, or passages, as `openOrIndex` does, or replaces those with the same ids: the
   * passages of an earlier version go. Documents that did not change are not encoded again.
   *
   * @throws {InputError} as `openOrIndex` does.
   */
  upsert(
    documents: AsyncIterable<DocumentInput | PassageInput> | Iterable<DocumentInput | PassageInput>,
    options?: UpsertOptions,
  ): Promise<DocumentChanges>;
  /**
   * Deletes documents with all their passages, or passages by their ids. Ids that the index does
   * not have are ignored.
   *
   * @returns the number of deleted passages
   * @throws {InputError} if another process writes the index
   */
  remove(
    ids: string | AsyncIterable<string> | Iterable<string>,
    options?: RemoveOptions,
  ): Promise<number>;
}

/** Opens an index for a model. */
export async function openFor(
  model: LoadedModel,
  directory: string,
  options?: OpenOptions,
): Promise<OpenIndex> {
  const index = await openIndex(directory, options, model.searching);
  const change = (changed: { readonly values?: unknown; readonly deleted?: string[] }, how = {}) =>
    model.lifetime.use(async () => {
      const { changeIndex } = await import("./indexing.ts");
      const settings = resolveOptions(SYNC, { ...how, directory });
      const changes = await changeIndex(model, changed, settings);
      await index.refresh();
      return changes;
    });
  return Object.assign(index, {
    upsert: (documents: Parameters<OpenIndex["upsert"]>[0], given?: UpsertOptions) =>
      change({ values: documents }, resolveOptions(UPSERT, given)),
    async remove(ids: Parameters<OpenIndex["remove"]>[0], given?: RemoveOptions) {
      const settings = resolveOptions(REMOVE, given);
      const deleted: string[] = [];
      for await (const id of checkedIds(typeof ids === "string" ? [ids] : ids)) deleted.push(id);
      const { changes } = await change({ deleted }, settings);
      return changes.reduce((sum, { passages }) => sum + passages, 0);
    },
  });
}
