/**
 * The parts of an import, as records of the collection: part I of N is imported by one process, and
 * the collection is whole when all are finished.
 */

import { z } from "zod";
import { InputError } from "../../../io/errors.ts";
import { parseJson } from "../../../io/json/parse-json.ts";
import type { ShardRecord } from "../../index/format/manifest.ts";
import type { ImportPart } from "../../index/maintain/info.ts";
import { PROPERTIES } from "./properties.ts";
import type { Store } from "./store.ts";

const PREFIX = "part ";

const schema: z.ZodType<ImportPart> = z.strictObject({
  index: z.int().gte(0),
  count: z.int().gte(1),
  finished: z.boolean(),
});

const WHOLE: ShardRecord = { index: 0, count: 1 };

/** Records that a part has begun, or is finished. */
export const writePart = (
  store: Store,
  { index, count }: ShardRecord = WHOLE,
  finished: boolean,
): Promise<void> =>
  store.writeRecord(`${PREFIX}${index + 1}/${count}`, JSON.stringify({ index, count, finished }));

/** The parts of the import of a collection, also those that have not begun. */
export async function readParts(store: Store): Promise<ImportPart[]> {
  const parts = new Map<string, ImportPart>();
  for (const name of await store.recordNames(PREFIX)) {
    const text = await store.record(name);
    const part = schema.safeParse(text && parseJson(text, store.address)).data;
    if (!part) continue;
    for (let index = 0; index < part.count; index++) {
      const key = `${index}/${part.count}`;
      if (!parts.has(key)) parts.set(key, { index, count: part.count, finished: false });
    }
    parts.set(`${part.index}/${part.count}`, part);
  }
  return [...parts.values()];
}

/** What is missing of the import of a collection, such as `part 2/4`; undefined if it is whole. */
export async function missingParts(store: Store): Promise<string | undefined> {
  const missing = (await readParts(store)).filter(({ finished }) => !finished);
  if (missing.length === 0) return undefined;
  const names = missing.slice(0, 3).map(({ index, count }) => `part ${index + 1}/${count}`);
  const more = missing.length > names.length ? ` and ${missing.length - names.length} more` : "";
  return `${names.join(", ")}${more} not finished`;
}

/** Warns of a collection that is imported in part: a search finds only what is there. */
export async function warnOfParts(store: Store): Promise<void> {
  const missing = await missingParts(store);
  if (missing === undefined) return;
  process.emitWarning(
    `${store.address}: expected a whole collection, got ${missing}; ` +
      "run the import again: it continues",
    "ReAttWarning",
  );
}

/** @throws {InputError} if the store has the collection, and all of it */
export async function checkUnfinished(store: Store): Promise<void> {
  const isThere = (await store.record(PROPERTIES)) !== undefined;
  if (!isThere || (await missingParts(store)) !== undefined) return;
  throw new InputError({
    code: "ERR_REATT_INDEX_EXISTS",
    where: store.address,
    expected: "no collection, or one that is imported in part",
    got: "a whole one",
    remedy: "add passages with reatt index add or reatt sync, or replace it with --replace",
  });
}
