/** Identifies the contents of a passage. */

import { createHash } from "node:crypto";
import type { Passage } from "../../../text/passage.ts";

/** Fields count in any order, because a store may return them in another one. */
export function digestOf({ id, title, text, document, metadata = {} }: Passage): string {
  const fields = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([id, title, text, document ?? null, fields]))
    .digest("base64");
}
