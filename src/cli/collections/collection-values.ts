/** Gives commands the index and the model of a collection. */

import { existsSync } from "node:fs";
import type { OptionTable } from "../../options/option.ts";
import { manifestPath } from "../../retrieval/index/format/manifest.ts";
import { INDEX, STORE } from "../shared/file-options.ts";
import { UsageError } from "../shared/usage-error.ts";
import { type Collection, type Config, findConfig, NAME } from "./collections.ts";

/**
 * Takes the address of `--store` for the place of the index.
 *
 * @param given is changed
 * @throws {UsageError} if a folder is given too
 */
export function applyStore(options: OptionTable, given: Map<string, unknown>): void {
  const address = given.get("store");
  if (options.store !== STORE || address === undefined) return;
  const place = "out" in options ? "out" : "index";
  if (given.has(place)) throw new UsageError(`--store with --${place}: give one of them`);
  given.set(place, address);
}

/**
 * Replaces the name of a collection in `--index` by its index. Without `--index`, the only
 * collection is meant. An index that exists counts more than a name.
 *
 * @param given is changed
 * @throws {UsageError} if there are several collections and none is named
 * @throws {InputError} if the user does not accept the file
 */
export async function applyCollection(
  options: OptionTable,
  given: Map<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  if (options.index !== INDEX) return;
  const name = given.get("index") as string | undefined;
  if (name !== undefined && !NAME.test(name)) return;
  if (name !== undefined && existsSync(manifestPath(name))) return;
  const config = await findConfig();
  if (!config) return;
  const collection = name === undefined ? onlyOne(config) : named(config, name);
  if (!collection) return;
  const { checkAccepted } = await import("./trust.ts");
  await checkAccepted(config, signal);
  given.set("index", collection.index);
  const values = { ...collection, title: collection.title ?? collection.name };
  for (const option of OF_COLLECTION)
    if (option in options && !given.has(option) && values[option] !== undefined)
      given.set(option, values[option]);
}

/** Options whose values a collection has. */
const OF_COLLECTION = ["model", "title", "description", "linkBase", "assistant"] as const;

export const named = ({ collections }: Config, name: string): Collection | undefined =>
  collections.find((collection) => collection.name === name);

function onlyOne({ collections }: Config): Collection {
  const [first, ...others] = collections;
  if (others.length === 0) return first!;
  const names = collections.map(({ name }) => name).join(", ");
  throw new UsageError(`--index NAME is missing; the collections are ${names}`);
}
