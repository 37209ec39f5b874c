/** Gives commands the index and the model of a collection. */

import { existsSync } from "node:fs";
import { defaultOf, type OptionTable } from "../../options/option.ts";
import { manifestPath } from "../../retrieval/index/format/manifest.ts";
import { INDEX, INDEXES, type IndexPlace, MODEL, STORE } from "../shared/file-options.ts";
import { UsageError } from "../shared/usage-error.ts";
import { type Collection, type Config, findConfig, NAME, printable } from "./collections.ts";

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
  given.set(place, options[place] === INDEXES ? [{ directory: address }] : address);
}

/**
 * Replaces the names of collections in `--index` by their indexes. Without `--index`, a command
 * that searches takes all collections, and another one the only one. An index that exists counts
 * more than a name.
 *
 * @param given is changed
 * @throws {UsageError} if one collection is needed and there are several, or if their models differ
 * @throws {InputError} if the user does not accept the file
 */
export async function applyCollection(
  options: OptionTable,
  given: Map<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  const takesSeveral = options.index === INDEXES;
  if (!takesSeveral && options.index !== INDEX) return;
  const index = given.get("index") as string | readonly IndexPlace[] | undefined;
  const places = typeof index === "string" ? [{ directory: index }] : index;
  if (places && !places.some(isName)) return;
  const config = await findConfig();
  if (!config) return;
  const found = places
    ? places.map((place) => (isName(place) ? named(config, place.directory) : undefined))
    : takesSeveral
      ? indexed(config)
      : [onlyOne(config)];
  const collections = found.filter((one) => one !== undefined);
  if (collections.length === 0) return;
  const { checkAccepted } = await import("./trust.ts");
  await checkAccepted(config, signal);
  const chosen = found.map((one, i): IndexPlace => (one ? placeOfCollection(one) : places![i]!));
  given.set("index", takesSeveral ? chosen : chosen[0]!.directory);
  const values = valuesOf(collections, given);
  for (const [option, value] of Object.entries(values))
    if (option in options && !given.has(option) && value !== undefined) given.set(option, value);
}

const isName = ({ directory }: IndexPlace): boolean =>
  NAME.test(directory) && !existsSync(manifestPath(directory));

const placeOfCollection = ({ index, name, linkBase }: Collection): IndexPlace => ({
  directory: index,
  collection: name,
  linkBase,
});

/** The collections that have an index, or all if none has; the others are named. */
function indexed({ collections }: Config): readonly Collection[] {
  const isIndexed = ({ index }: Collection) =>
    index.includes("://") || existsSync(manifestPath(index));
  if (!collections.some(isIndexed)) return collections;
  const missing = collections.filter((one) => !isIndexed(one)).map(({ name }) => name);
  if (missing.length > 0)
    process.stderr.write(
      `${printable(`not indexed yet: ${missing.join(", ")}; see reatt sync`)}\n`,
    );
  return collections.filter(isIndexed);
}

/** The values that collections have for options. Several are described together. */
function valuesOf(
  collections: readonly Collection[],
  given: ReadonlyMap<string, unknown>,
): Readonly<Record<string, unknown>> {
  const [first, ...others] = collections as [Collection, ...Collection[]];
  const modelOf = ({ model = defaultOf(MODEL) as string }: Collection): string => model;
  const other = others.find((one) => modelOf(one) !== modelOf(first));
  if (other && !given.has("model"))
    throw new UsageError(
      `the collections have different models: ${first.name} ${modelOf(first)}, ` +
        `${other.name} ${modelOf(other)}; give --index with names of those of one model`,
    );
  const shared = {
    ...(first.model !== undefined && { model: first.model }), // or that of the indexes
    title: collections.map(titleOf).join(", "),
  };
  if (others.length === 0) {
    const { description, assistant } = first;
    return { ...shared, description, assistant };
  }
  const described = collections.filter(({ description }) => description !== undefined);
  const description = described.map((one) => `${titleOf(one)}: ${one.description}`).join("; ");
  return { ...shared, ...(description !== "" && { description }) };
}

const titleOf = ({ title, name }: Collection): string => title ?? name;

export const named = ({ collections }: Config, name: string): Collection | undefined =>
  collections.find((collection) => collection.name === name);

function onlyOne({ collections }: Config): Collection {
  const [first, ...others] = collections;
  if (others.length === 0) return first!;
  const names = collections.map(({ name }) => name).join(", ");
  throw new UsageError(`--index NAME is missing; the collections are ${names}`);
}
