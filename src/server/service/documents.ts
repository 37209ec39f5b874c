/** Documents and passages of an index by their names: what `get` and `multi_get` return. */

import { extname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { PathPatterns } from "../../documents/file/path-patterns.ts";
import { closestName } from "../../options/closest-name.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import { composed } from "../../retrieval/where/values.ts";
import type { LinkOf } from "../../text/link.ts";
import type { Passage } from "../../text/passage.ts";
import { ApiError } from "./api-error.ts";
import { type Catalogue, compareNames } from "./catalogue.ts";
import type { GetRequest, MultiGetRequest } from "./requests.ts";

/** A document, or the parts of it that were asked for. */
export interface Found {
  /** The path or the id of the document; of a passage without a document, its id. */
  readonly document: string;
  /** The collection that it is in, of several. */
  readonly collection?: string | undefined;
  readonly link?: string | undefined;
  /** In the order of the document. */
  readonly passages: readonly Passage[];
  /** Passages that did not fit into the bytes that were asked for. */
  readonly omitted: number;
}

/** Documents of a list. */
const MAX_LISTED = 1_000;
/** Names of omitted documents in a reply. */
const MAX_OMITTED = 100;
/** Passages of a document that are in memory to be sorted. */
const MAX_SORTED = 5_000;
/** How long paths are compared with patterns before others use the process. */
const TURN_MS = 20;
/** Comparing more paths with a misspelt one would take too long. */
const MAX_COMPARED = 10_000;

/**
 * The document or the passage of a name.
 *
 * @throws {ApiError} `not_found`; `invalid_request` for lines of a document without lines, and for
 *   a name that several collections have
 */
export async function getDocument(
  generation: IndexGeneration,
  { documents, paths }: Catalogue,
  { path, collection, lines, maxBytes }: GetRequest,
  signal: AbortSignal,
): Promise<Found> {
  const chosen = chosenOf(generation, collection);
  const [first, ...others] = await named(generation, documents, path, chosen);
  if (!first) throw unknown(path, paths);
  if (others.length > 0) throw inSeveral([first, ...others]);
  const passages = inOrder(generation, first.ordinals, signal);
  const wanted = lines === undefined ? passages : withLines(passages, lines);
  const total = lines === undefined ? first.ordinals.length : undefined;
  return within(first, wanted, total, new Budget(maxBytes), generation.linkOf);
}

/** The first documents in the order of their names. */
export function listDocuments({ documents, sorted }: Catalogue): {
  documents: { document: string; passages: number }[];
  omitted: number;
} {
  return {
    documents: sorted
      .slice(0, MAX_LISTED)
      .map((document) => ({ document, passages: documents.get(document)!.length })),
    omitted: Math.max(0, sorted.length - MAX_LISTED),
  };
}

/** The passages of a document of a collection. */
interface Named {
  readonly name: string;
  readonly collection: string;
  readonly ordinals: readonly number[];
}

/** The names of all collections, or this one. @throws {ApiError} `not_found` */
function chosenOf({ members }: IndexGeneration, collection: string | undefined): string[] {
  const names = members.map((member) => member.collection);
  if (collection === undefined) return names;
  if (names.includes(collection)) return [collection];
  throw noCollection(names);
}

/** Documents or passages of this name; its letters may be composed or not, as macOS writes. */
async function named(
  generation: IndexGeneration,
  documents: Catalogue["documents"],
  path: string,
  collections: readonly string[],
): Promise<Named[]> {
  const names = new Set([path, path.normalize("NFC"), path.normalize("NFD")]);
  for (const name of names) {
    const found = byCollection(generation, name, documents.get(name) ?? [], collections);
    if (found.length > 0) return found;
  }
  for (const name of names) {
    const found: Named[] = [];
    for (const collection of collections) {
      const ordinal = await generation.find(name, collection);
      if (ordinal !== undefined) found.push({ name, collection, ordinals: [ordinal] });
    }
    if (found.length > 0) return found;
  }
  return [];
}

/** Several collections can have a document of one name. */
const byCollection = (
  generation: IndexGeneration,
  name: string,
  ordinals: readonly number[],
  collections: readonly string[],
): Named[] =>
  collections
    .map((collection) => ({
      ...{ name, collection },
      ordinals: ordinals.filter((one) => generation.ownerOf(one).collection === collection),
    }))
    .filter((one) => one.ordinals.length > 0);

export const noCollection = (names: readonly string[]): ApiError =>
  new ApiError("not_found", `no such collection; there are: ${names.join(", ")}`);

const inSeveral = (found: readonly Named[]): ApiError =>
  new ApiError(
    "invalid_request",
    `several collections have it: ${found.map(({ collection }) => collection).join(", ")}; ` +
      "give collection",
  );

/** The documents whose paths match patterns, until the bytes are used up. */
export async function getDocuments(
  generation: IndexGeneration,
  { documents, sorted }: Catalogue,
  { patterns, collection, maxBytes }: MultiGetRequest,
  signal: AbortSignal,
): Promise<{ documents: Found[]; omitted: string[] }> {
  const chosen = chosenOf(generation, collection);
  const wanted = new PathPatterns(patterns.map(composed));
  const matching: Named[] = [];
  let turn = performance.now();
  for (const path of sorted) {
    if (wanted.match(composed(path)))
      matching.push(...byCollection(generation, path, documents.get(path)!, chosen));
    if (performance.now() - turn < TURN_MS) continue;
    await setImmediate(); // 20 patterns and many paths take seconds
    signal.throwIfAborted();
    turn = performance.now();
  }
  const budget = new Budget(maxBytes);
  const found: Found[] = [];
  for (const document of matching) {
    if (budget.left === 0) break;
    const { ordinals } = document;
    const passages = inOrder(generation, ordinals, signal);
    const one = await within(document, passages, ordinals.length, budget, generation.linkOf);
    if (one.passages.length > 0) found.push(one);
  }
  const omitted = matching.slice(found.length, found.length + MAX_OMITTED);
  return { documents: found, omitted: omitted.map(({ name }) => name) };
}

/**
 * The passages of a document, in the order of their numbers. Those of a very large document, such
 * as a table with a million rows, come in the order of the index: it would not fit in memory.
 */
async function* inOrder(
  generation: IndexGeneration,
  ordinals: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<Passage, void> {
  for (let first = 0; first < ordinals.length; first += MAX_SORTED) {
    signal.throwIfAborted();
    const part = await generation.passages(ordinals.slice(first, first + MAX_SORTED));
    yield* part.sort((a, b) => compareNames(a.id, b.id));
  }
}

/** Bytes that a reply may still have: none after the first passage that does not fit. */
class Budget {
  left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }

  takes({ id, title, text }: Passage): boolean {
    const bytes = Buffer.byteLength(id) + Buffer.byteLength(title) + Buffer.byteLength(text);
    const fits = bytes <= this.left;
    this.left = fits ? this.left - bytes : 0;
    return fits;
  }
}

/** @param total the number of passages; undefined if it must be counted */
async function within(
  { name: document }: Named,
  all: AsyncIterable<Passage>,
  total: number | undefined,
  budget: Budget,
  linkOf: LinkOf,
): Promise<Found> {
  const passages: Passage[] = [];
  let link: string | undefined;
  let taken = true;
  let omitted = 0;
  for await (const passage of all) {
    link ??= linkOf(passage)?.replace(/#page=\d+$/, "");
    taken &&= budget.takes(passage);
    if (taken) passages.push(passage);
    else if (total === undefined) omitted++;
    else break;
  }
  if (total !== undefined) omitted = total - passages.length;
  const { collection } = passages[0] ?? {};
  return {
    document,
    ...(collection !== undefined && { collection }),
    ...(link !== undefined && { link }),
    ...{ passages, omitted },
  };
}

/** The passages that have one of the lines `10-14`. */
async function* withLines(
  passages: AsyncIterable<Passage>,
  lines: string,
): AsyncGenerator<Passage, void> {
  let isLined = false;
  for await (const passage of passages) {
    isLined ||= typeof passage.metadata?._lines === "string";
    if (hasLines(passage, lines)) yield passage;
  }
  if (!isLined)
    throw new ApiError("invalid_request", "the passages of this document have no lines");
}

/** Whether a passage has one of the lines `10-14`. */
function hasLines({ metadata }: Passage, lines: string): boolean {
  if (typeof metadata?._lines !== "string") return false;
  const [[first, last], [wantedFirst, wantedLast]] = [rangeOf(metadata._lines), rangeOf(lines)];
  return first <= wantedLast && wantedFirst <= last;
}

function rangeOf(lines: string): readonly [first: number, last: number] {
  const [first, last = first] = lines.split("-").map(Number);
  return [first!, last!];
}

function unknown(path: string, paths: readonly string[]): ApiError {
  const compared = paths.slice(0, MAX_COMPARED);
  const end = `/${withoutEnding(path)}`;
  const named = compared.find((known) => `/${withoutEnding(known)}`.endsWith(end));
  const similar = named ?? closestName(path, compared);
  const hint = similar === undefined ? "" : `; did you mean ${similar}?`;
  return new ApiError("not_found", `there is no document or passage of this name${hint}`);
}

/** `Guide/LTS.md` -> `guide/lts`, which is meant by `lts`, too. */
const withoutEnding = (path: string): string =>
  path.toLowerCase().slice(0, path.length - extname(path).length);
