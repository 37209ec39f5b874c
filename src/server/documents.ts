/** Documents and passages of an index by their names: what `get` and `multi_get` return. */

import ignore from "ignore";
import { closestName } from "../options/closest-name.ts";
import type { IndexGeneration } from "../retrieval/search/generation.ts";
import { linkOf } from "../text/link.ts";
import type { Passage } from "../text/passage.ts";
import { ApiError } from "./api-error.ts";
import type { Catalogue } from "./catalogue.ts";
import type { GetRequest, MultiGetRequest } from "./requests.ts";

/** A document, or the parts of it that were asked for. */
export interface Found {
  /** The path or the id of the document; of a passage without a document, its id. */
  readonly document: string;
  readonly link?: string | undefined;
  /** In the order of the document. */
  readonly passages: readonly Passage[];
  /** Passages that did not fit into the bytes that were asked for. */
  readonly omitted: number;
}

/** Names of omitted documents in a reply. */
const MAX_OMITTED = 100;
/** Comparing more paths with a misspelt one would take too long. */
const MAX_COMPARED = 10_000;

/** `a#2` comes before `a#10`. */
const { compare } = new Intl.Collator("en", { numeric: true });

/**
 * The document or the passage of a name.
 *
 * @throws {ApiError} `not_found`; `invalid_request` for lines of a document without lines
 */
export async function getDocument(
  generation: IndexGeneration,
  { documents, paths }: Catalogue,
  { path, lines, maxBytes }: GetRequest,
): Promise<Found> {
  const ordinal = documents.has(path) ? undefined : await generation.find(path);
  const ordinals = documents.get(path) ?? (ordinal === undefined ? [] : [ordinal]);
  if (ordinals.length === 0) throw unknown(path, paths);
  const all = await generation.passages(ordinals);
  const passages = lines === undefined ? all : all.filter((passage) => hasLines(passage, lines));
  if (lines !== undefined && !all.some(({ metadata }) => typeof metadata?._lines === "string"))
    throw new ApiError("invalid_request", "the passages of this document have no lines");
  return within(path, passages, new Budget(maxBytes), generation.header.linkBase);
}

/** The documents whose paths match patterns, until the bytes are used up. */
export async function getDocuments(
  generation: IndexGeneration,
  { documents, paths }: Catalogue,
  { patterns, maxBytes }: MultiGetRequest,
): Promise<{ documents: Found[]; omitted: string[] }> {
  const matcher = ignore({ allowRelativePaths: true }).add([...patterns]);
  const matching = paths.filter((path) => path !== "" && matcher.ignores(path)).sort(compare);
  const budget = new Budget(maxBytes);
  const found: Found[] = [];
  for (const path of matching) {
    if (budget.left === 0) break;
    const passages = await generation.passages(documents.get(path)!);
    const one = within(path, passages, budget, generation.header.linkBase);
    if (one.passages.length > 0) found.push(one);
  }
  return { documents: found, omitted: matching.slice(found.length, found.length + MAX_OMITTED) };
}

/** Bytes that a reply may have. After the first passage that does not fit, none does. */
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

function within(
  document: string,
  passages: readonly Passage[],
  budget: Budget,
  linkBase: string | undefined,
): Found {
  const sorted = [...passages].sort((a, b) => compare(a.id, b.id));
  const taken: Passage[] = [];
  for (const passage of sorted) {
    if (!budget.takes(passage)) break;
    taken.push(passage);
  }
  const [first] = sorted;
  const link = first && linkOf(first, linkBase)?.replace(/#page=\d+$/, "");
  const omitted = sorted.length - taken.length;
  return { document, ...(link !== undefined && { link }), passages: taken, omitted };
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
  const similar = closestName(path, paths.slice(0, MAX_COMPARED));
  const hint = similar === undefined ? "" : `; did you mean ${similar}?`;
  return new ApiError("not_found", `there is no document or passage of this name${hint}`);
}
