/** Where a person can open what a passage comes from. */

import type { Passage } from "./passage.ts";

/** What a browser opens as a page. A document could name a script as its address. */
const WEB_ADDRESS = /^https?:\/\//i;

/** Whether the addresses behind a base are pages or files, and not scripts. */
export const isLinkBase = (base: string): boolean =>
  /^(?:https?|file):/i.test(base) && URL.canParse(base);

/** The address of the document of a passage; undefined without one. */
export type LinkOf = (
  passage: Pick<Passage, "id" | "document" | "collection" | "metadata">,
) => string | undefined;

/**
 * The address of the document of a passage: its metadata field `url`; else its path (`_source`),
 * its document or its id behind a base. A PDF is opened at the page of the passage.
 *
 * @param base the beginning of all addresses. A path follows it after a slash; in a query, such as
 *   `https://example.org/view?file=`, at once. Default: only the field `url` counts
 * @example
 * const passage = { id: "a b.pdf#2", metadata: { _source: "a b.pdf", _page: 3 } };
 * linkOf(passage, "https://example.org/docs"); // https://example.org/docs/a%20b.pdf#page=3
 */
export function linkOf(
  { id, document, metadata = {} }: Pick<Passage, "id" | "document" | "metadata">,
  base?: string,
): string | undefined {
  const { url, _source: source, _page: page } = metadata;
  const own = typeof url === "string" && WEB_ADDRESS.test(url) ? url : undefined;
  const path = typeof source === "string" ? source : (document ?? id);
  // an index can be made by others
  const link = own ?? (base && isLinkBase(base) ? behind(base, asPath(path)) : undefined);
  const isPdf = /\.pdf$/i.test(own?.replace(/[?#].*$/s, "") ?? path);
  const isOpenedAtPage = link !== undefined && isPdf && typeof page === "number";
  return isOpenedAtPage && !link.includes("#") ? `${link}#page=${page}` : link;
}

/** A path in a query or a fragment is a part of its own; elsewhere it follows a slash. */
const behind = (base: string, path: string): string =>
  /[?#]/.test(base) ? `${base}${path}` : `${base.replace(/\/$/, "")}/${path}`;

/** The path of a file in an address. */
const asPath = (path: string): string =>
  path
    .replace(/^(?:\.?\/)+/, "")
    .split("/")
    .map((part) => encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\ufffd")))
    .join("/");
