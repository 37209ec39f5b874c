/**
 * A store for one synchronisation at a time. Of two, the one that began first stops before its next
 * change: no lock is left when one is killed.
 */

import { randomUUID } from "node:crypto";
import { InputError } from "../../../io/errors.ts";
import { findProperties } from "./properties.ts";
import type { Store } from "./store.ts";

/** The name of the record of the synchronisation that began last. */
const LATEST = "synchronisation";

/** Begins a synchronisation. The store refuses changes once another one has begun. */
export async function beginExclusive(store: Store): Promise<Store> {
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
  return {
    ...store,
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
