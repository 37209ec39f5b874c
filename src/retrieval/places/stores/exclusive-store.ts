/**
 * A store for one synchronisation at a time. Of two, the one that began first stops before its next
 * change: no lock is left when one is killed.
 */

import { randomUUID } from "node:crypto";
import { InputError } from "../../../io/errors.ts";
import { findProperties } from "./properties.ts";
import type { NewPassage, Publication, Store } from "./store.ts";

/** The name of the record of the synchronisation that began last. */
const LATEST = "synchronisation";

/** A change of many passages, of which readers see all or nothing. */
export interface WholeChange {
  /** The store as an import sees it: what it puts waits in `staging`. */
  readonly store: Store;
  /** Makes the change visible. */
  publish(deleted: readonly string[]): Promise<void>;
}

export interface ExclusiveStore extends Store {
  /** Undefined for a store without transactions, where each part shows when it is written. */
  readonly beginChange: (() => WholeChange) | undefined;
}

/** Begins a synchronisation. The store refuses changes once another one has begun. */
export async function beginExclusive(store: Store): Promise<ExclusiveStore> {
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
  await begin();
  const { staging } = store;
  const beginChange =
    staging &&
    (() =>
      wholeChange(store, {
        digests: staging.digests,
        async put(passages) {
          await check();
          await staging.put(passages);
        },
        async publish(publication) {
          await check();
          const only = { name: LATEST, contents: own };
          if (!(await staging.publish(publication, only))) throw overtaken(store.address);
        },
      }));
  return {
    ...store,
    beginChange,
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

interface Waiting {
  put(passages: readonly NewPassage[]): Promise<void>;
  digests(ids: readonly string[]): Promise<Map<string, string>>;
  publish(publication: Publication): Promise<void>;
}

function wholeChange(store: Store, waiting: Waiting): WholeChange {
  const put = new Map<string, string>();
  return {
    store: {
      ...store,
      async put(passages) {
        await waiting.put(passages);
        for (const { passage, digest } of passages) put.set(passage.id, digest);
      },
      /** What a synchronisation that was stopped has encoded is not encoded again. */
      async digests(ids) {
        const encoded = await waiting.digests(ids);
        for (const [id, digest] of encoded) put.set(id, digest);
        return new Map([...(await store.digests(ids)), ...encoded]);
      },
    },
    publish: (deleted) => waiting.publish({ put, deleted }),
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
