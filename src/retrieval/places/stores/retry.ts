/** Repeats what a store did not do, because it could not be reached. */

import { setTimeout as sleep } from "node:timers/promises";
import { InputError } from "../../../io/errors.ts";
import type { Store } from "./store.ts";

/** The pauses of a search, in milliseconds: a store that moves to another node is back by then. */
export const SEARCH_PAUSES: readonly number[] = [100, 400];

/** Those of an import, about two minutes: the store may start again. */
export const IMPORT_PAUSES: readonly number[] = [250, 500, 1_000, ...Array(24).fill(5_000)];

export const isAway = (error: unknown): boolean =>
  error instanceof InputError && error.code === "ERR_REATT_STORE_AWAY";

/**
 * A store whose calls are repeated after each pause while it is away. Until it has answered once,
 * its address may be wrong, and it has no more pauses than a search.
 */
export function retrying(store: Store, pauses: readonly number[], signal?: AbortSignal): Store {
  let hasAnswered = false;
  const repeated = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted();
      try {
        const result = await work();
        hasAnswered = true;
        return result;
      } catch (error) {
        const pause = pauses[tries];
        const isPatient = hasAnswered || tries < SEARCH_PAUSES.length;
        if (!isAway(error) || pause === undefined || !isPatient) throw error;
        await sleep(pause * (0.75 + Math.random() / 2), undefined, { signal });
      }
    }
  };
  const { staging } = store;
  return {
    address: store.address,
    create: (...given) => repeated(() => store.create(...given)),
    drop: () => repeated(() => store.drop()),
    record: (name) => repeated(() => store.record(name)),
    writeRecord: (...given) => repeated(() => store.writeRecord(...given)),
    recordNames: (prefix) => repeated(() => store.recordNames(prefix)),
    put: (passages) => repeated(() => store.put(passages)),
    delete: (ids) => repeated(() => store.delete(ids)),
    digests: (ids) => repeated(() => store.digests(ids)),
    get: (ids) => repeated(() => store.get(ids)),
    nearest: (...given) => repeated(() => store.nearest(...given)),
    withWords: (...given) => repeated(() => store.withWords(...given)),
    frequencies: (terms) => repeated(() => store.frequencies(terms)),
    statistics: () => repeated(() => store.statistics()),
    bytes: () => repeated(() => store.bytes()),
    matching: (where) => store.matching(where),
    rows: () => store.rows(),
    snapshot: (work) => store.snapshot(work),
    staging: staging && {
      put: (passages) => repeated(() => staging.put(passages)),
      digests: (ids) => repeated(() => staging.digests(ids)),
      publish: (...given) => repeated(() => staging.publish(...given)),
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
