/** Where in its document a passage stands, in words. */

import type { Metadata, MetadataValue } from "./passage.ts";

/** One of them, and several, with the fields that reading adds (document-passages.ts). */
const PARTS: readonly (readonly [name: string, one: string, range: string])[] = [
  ["page", "_page", "_pages"],
  ["slide", "_slide", "_slides"],
  ["sheet", "_sheet", ""],
  ["chapter", "_chapter", ""],
  ["cell", "_cell", "_cells"],
  ["row", "", "_rows"],
  ["line", "", "_lines"],
];

/**
 * The place of a passage in its document; undefined if its metadata has none.
 *
 * @example
 * placeInWords({ _page: 3 }); // page 3
 * placeInWords({ _sheet: "Prices", _rows: "2-9" }); // sheet Prices, rows 2 to 9
 */
export function placeInWords(metadata: Metadata = {}): string | undefined {
  const parts = PARTS.flatMap(([name, one, range]) => {
    const found = textOf(metadata[range]) ?? textOf(metadata[one]);
    if (found === undefined) return [];
    const [, first, last] = /^(\d+)-(\d+)$/.exec(found) ?? [];
    return first === undefined ? [`${name} ${found}`] : [`${name}s ${first} to ${last}`];
  });
  return parts.length === 0 ? undefined : parts.join(", ");
}

const textOf = (value: MetadataValue | undefined): string | undefined =>
  typeof value === "number" || (typeof value === "string" && value !== "") ? `${value}` : undefined;
