/**
 * Filters of an index in a store. The predicate of a filter decides; the store is also told what
 * it can leave out, so that it finds enough candidates that pass.
 */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import type { RankingRequest, RemotePassages, Selection } from "../../search/generation.ts";
import { FieldTypes } from "../../where/fields.ts";
import { passes, type Where } from "../../where/where.ts";
import { isStorable, STORABLE_TEXTS, unstorableText } from "./storable.ts";
import type { CandidateRequest, Store } from "./store.ts";
import type { StoredPassages } from "./stored-passages.ts";

/** Conditions that are not checked again; then none are, until they are used again. */
const MAX_CHECKED = 1_000;
/** Passages that a condition without results is compared with, for each of its fields. */
const SAMPLE = 200;

export interface StoreFilters extends Pick<RemotePassages, "accepting" | "matching"> {
  /** What the store can leave out for a predicate of `accepting`. */
  toStore(accept: RankingRequest["accept"]): Omit<CandidateRequest, "count">;
}

export function storeFilters(store: Store, passages: StoredPassages): StoreFilters {
  const inStore = new WeakMap<object, Omit<CandidateRequest, "count">>();
  const checked = new Set<string>();
  const check = async (where: Where): Promise<void> => {
    checkTexts(where);
    const key = JSON.stringify(where);
    if (!checked.has(key)) await checkFields(store, where);
    if (checked.size >= MAX_CHECKED) checked.clear();
    checked.add(key);
  };
  return {
    toStore: (accept) => (accept && inStore.get(accept)) ?? {},
    async accepting({ filter, where }: Selection) {
      if (!filter && !where) return undefined;
      if (where) await check(where);
      const ids = typeof filter === "object" ? new Set([...filter].filter(isStorable)) : undefined;
      const accept = (ordinal: number): boolean => {
        const fields = where && passages.known(ordinal); // the store left others out
        if (fields && !passes(where, fields)) return false;
        if (typeof filter === "function") return filter(ordinal);
        return ids === undefined || ids.has(passages.id(ordinal));
      };
      inStore.set(accept, { where, ids: ids && [...ids] });
      return accept;
    },
    async matching(where) {
      await check(where);
      const ids = new Set<string>();
      for await (const passage of store.matching(where))
        if (passes(where, passage)) ids.add(passage.id);
      return (ordinal) => ids.has(passages.id(ordinal));
    },
  };
}

/** @throws {InputError} for a text that no passage of a store has */
function checkTexts(where: Where): void {
  const text = unstorableText(where);
  if (text === undefined) return;
  throw new InputError({
    code: "ERR_REATT_BAD_CONDITION",
    where: "where",
    expected: STORABLE_TEXTS,
    got: excerpt(text),
    remedy: "leave it out: no passage has it",
  });
}

/** @throws {InputError} if no passage passes, and none of a sample has the fields or their types */
async function checkFields(store: Store, where: Where): Promise<void> {
  for await (const passage of store.matching(where)) if (passes(where, passage)) return;
  const types = new FieldTypes(where);
  let count = 0;
  for (const field of types.names)
    for await (const passage of store.matching({ [field]: { exists: true } })) {
      types.add(passage);
      if (++count % SAMPLE === 0) break;
    }
  if (count === 0)
    for await (const passage of store.rows()) {
      types.add(passage.passage);
      if (++count === SAMPLE) break;
    }
  if (count > 0) types.check();
}
