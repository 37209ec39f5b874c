/**
 * What a synchronisation reads of a collection of a store. The collection has the record of the
 * folder, so any machine can go on. Of two synchronisations at a time, the one that began first
 * stops before its next change: no lock is left when one is killed.
 */

import { randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { InputError } from "../io/errors.ts";
import { findProperties } from "../retrieval/places/stores/properties.ts";
import type { Store } from "../retrieval/places/stores/store.ts";
import { parseRecord } from "./record.ts";
import type { IndexReader, SyncTarget } from "./target.ts";

/** The names of the record, and of that of the synchronisation that began last. */
const FOLDER = "folder";
const LATEST = "synchronisation";

/** A store that refuses changes once another synchronisation has begun. */
export interface SyncStore extends Store {
  begin(): Promise<void>;
}

export function syncStore(store: Store): SyncStore {
  const own = randomUUID();
  const begin = async (): Promise<void> => {
    if (await findProperties(store)) await store.writeRecord(LATEST, own);
  };
  /** Of a collection that is new, the first change counts as the beginning. */
  const check = async (): Promise<void> => {
    const latest = await store.record(LATEST);
    if (latest === undefined) return begin();
    if (latest !== own) throw overtaken(store.address);
  };
  return {
    ...store,
    begin,
    async put(passages) {
      await check();
      await store.put(passages);
    },
    async delete(ids) {
      await check();
      return store.delete(ids);
    },
    async writeRecord(name, contents) {
      await check();
      await store.writeRecord(name, contents);
    },
  };
}

const overtaken = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BUSY",
    where,
    expected: "one synchronisation at a time",
    got: "another one that began later",
    remedy: "run it again when the other one has ended",
  });

export function storeTarget(store: SyncStore): Omit<SyncTarget, "create" | "update"> {
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
    async exclusively(work) {
      await store.begin();
      return work();
    },
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
