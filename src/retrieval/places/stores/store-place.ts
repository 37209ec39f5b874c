/** An index as a collection of a store. */

import { crc32 } from "node:zlib";
import { InputError } from "../../../io/errors.ts";
import { bitsOption } from "../../index/write/automatic-bits.ts";
import type { BuildProgress } from "../../index/write/build.ts";
import type { Place, PlaceOptions } from "../place.ts";
import { storeInfo, verifyStore } from "./check-store.ts";
import { beginExclusive, type ExclusiveStore } from "./exclusive-store.ts";
import { importPassages } from "./import.ts";
import { checkUnfinished } from "./import-parts.ts";
import { openInStore } from "./open-store-index.ts";
import { findProperties, readProperties } from "./properties.ts";
import { IMPORT_PAUSES, retrying, SEARCH_PAUSES } from "./retry.ts";
import { checkStorable, isStorable } from "./storable.ts";
import type { Store } from "./store.ts";

/** The name of the record of a synchronised folder. */
const FOLDER = "folder";
/** Ids in one call of a store. */
const BATCH = 1_000;

/** @param connect opens the collection, as often as it is called */
export function storePlace(
  address: string,
  connect: () => Promise<Store>,
  { isPatient, signal }: PlaceOptions,
): Place {
  const pauses = isPatient ? IMPORT_PAUSES : SEARCH_PAUSES;
  let connected: Promise<Store> | undefined;
  let exclusive: ExclusiveStore | undefined; // while this place synchronises
  const opened = async (): Promise<Store> => {
    connected ??= connect().then((store) => retrying(store, pauses, signal));
    return exclusive ?? connected;
  };
  const name = address.replace(/:\/\/([^:@/]*):[^@/]*@/, "://$1@");
  return {
    address,
    name,
    find: async () => findIn(await opened()),
    header: async () => (await readProperties(await opened())).header,
    open: (options) => openInStore(async () => retrying(await connect(), SEARCH_PAUSES), options),
    info: async () => storeInfo(await opened()),
    verify: async () => verifyStore(await opened(), signal),
    async checkReplaceable({ replace, shard }) {
      if (!replace && !shard) await checkUnfinished(await opened());
    },
    async build(passages, { bits, replace, ...options }) {
      if (options.header.states) throw noStates(name);
      const store = await opened();
      if (replace) await store.drop();
      const importing = { bits: bitsOption({ bits }), isImport: true, signal };
      await importPassages(store, passages, { ...options, ...importing });
    },
    async add(passages, { deleted = [], labels: _, onProgress, ...options }) {
      const store = await opened();
      const change = exclusive?.beginChange?.();
      let finished: BuildProgress | undefined;
      const report = (progress: BuildProgress): void => {
        if (change && progress.event === "finished") finished = progress;
        else onProgress?.(progress);
      };
      const importing = { bits: undefined, isImport: false, signal, onProgress: report };
      if (passages)
        await importPassages(change?.store ?? store, passages, { ...options, ...importing });
      if (!change) {
        if (deleted.length > 0) await deleteFrom(store, deleted, signal);
        return;
      }
      if (finished) onProgress?.({ ...finished, event: "publishing" });
      await change.publish(deleted.filter(isStorable));
      if (finished) onProgress?.(finished);
    },
    delete: async (ids) => deleteFrom(await opened(), ids, signal),
    checkPassage: checkStorable,
    async read() {
      const store = await opened();
      return {
        find: async (id) => (await store.get([id]))[0]?.passage,
        passages: () => store.matching({}),
        async [Symbol.asyncDispose]() {},
      };
    },
    record: async () => (await opened()).record(FOLDER),
    async writeRecord(text) {
      const store = await opened();
      // Before the first import there is no collection, and nothing to remember.
      if (await findProperties(store)) await store.writeRecord(FOLDER, text);
    },
    async exclusively(work) {
      exclusive = await beginExclusive(await opened());
      return work().finally(() => {
        exclusive = undefined;
      });
    },
    async [Symbol.asyncDispose]() {
      const store = await connected?.catch(() => undefined);
      await store?.[Symbol.asyncDispose]();
    },
  };
}

async function findIn(store: Store): ReturnType<Place["find"]> {
  const properties = await findProperties(store);
  if (!properties) return undefined;
  const generation = crc32(JSON.stringify(await store.statistics()));
  return { header: properties.header, generation };
}

async function deleteFrom(
  store: Store,
  ids: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal | undefined,
): Promise<number> {
  await readProperties(store); // there must be a collection
  let deleted = 0;
  let batch: string[] = [];
  const deleteBatch = async (): Promise<void> => {
    signal?.throwIfAborted();
    if (batch.length > 0) deleted += await store.delete(batch.filter(isStorable));
    batch = [];
  };
  for await (const id of ids) if (batch.push(id) === BATCH) await deleteBatch();
  await deleteBatch();
  return deleted;
}

const noStates = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where,
    expected: "no states for reading, which a store does not keep",
    got: "keepStates",
    remedy: "leave it out",
  });
