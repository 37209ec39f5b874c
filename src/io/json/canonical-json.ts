/** JSON whose text depends on the value alone, for digests. */

import { createHash } from "node:crypto";

/**
 * The JSON of a value, with the keys of its objects in order: equal values have equal texts, in
 * whatever order their keys were set.
 *
 *     { b: 1, a: [{ d: 2, c: 3 }] } -> {"a":[{"c":3,"d":2}],"b":1}
 */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, own: unknown) =>
    typeof own === "object" && own !== null && !Array.isArray(own)
      ? Object.fromEntries(Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1)))
      : own,
  );

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export const canonicalDigest = (value: unknown): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex");
