/**
 * What a synchronisation reads of a collection of a store. The collection has the record of the
 * folder, so any machine can go on. Two synchronisations at a time are not kept apart: each puts
 * what it read, and the last one writes the record.
 */

import { crc32 } from "node:zlib";
import { findProperties } from "../retrieval/store/properties.ts";
import type { Store } from "../retrieval/store/store.ts";
import { parseRecord } from "./record.ts";
import type { IndexReader, SyncTarget } from "./target.ts";

/** The name of the record. */
const FOLDER = "folder";

export function storeTarget(store: Store): Omit<SyncTarget, "create" | "update"> {
  const generation = async (): Promise<number | undefined> => {
    if (!(await findProperties(store))) return undefined;
    return crc32(JSON.stringify(await store.statistics()));
  };
  const reader: IndexReader = {
    find: async (id) => (await store.get([id]))[0]?.passage,
    async *ids() {
      for await (const { id } of store.matching({})) yield id;
    },
    async [Symbol.asyncDispose]() {},
  };
  return {
    directory: store.address,
    takesLabels: false,
    exclusively: (work) => work(),
    generation,
    open: async () => reader,
    async readRecord() {
      const text = await store.record(FOLDER);
      return text === undefined ? undefined : parseRecord(text);
    },
    async writeRecord(record) {
      // Before the first import there is no collection, and nothing to remember.
      if (await findProperties(store)) await store.writeRecord(FOLDER, JSON.stringify(record));
    },
  };
}
