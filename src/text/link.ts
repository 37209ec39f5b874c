/** Where a person can open what a passage comes from. */

import type { Passage } from "./passage.ts";

/** What a browser opens as a page. A document could name a script as its address. */
const WEB_ADDRESS = /^https?:\/\//i;

/**
 * The address of the document of a passage: its metadata field `url`; else its path (`_source`),
 * its document or its id behind a base. A PDF is opened at the page of the passage.
 *
 * @param base the beginning of all addresses. Default: only the field `url` counts
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
  const link =
    own ?? (base === undefined ? undefined : `${base.replace(/\/$/, "")}/${asPath(path)}`);
  const isPdf = link !== undefined && /\.pdf$/i.test(link.replace(/[?#].*$/s, ""));
  const isOpenedAtPage = isPdf && typeof page === "number" && !link.includes("#");
  return isOpenedAtPage ? `${link}#page=${page}` : link;
}

/** The path of a file in an address. */
const asPath = (path: string): string =>
  path
    .replace(/^(?:\.?\/)+/, "")
    .split("/")
    .map((part) => encodeURIComponent(part.replace(/\p{Surrogate}/gu, "\ufffd")))
    .join("/");
