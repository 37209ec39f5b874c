import type { Passage } from "../../../text/passage.ts";

/** The metadata of a passage from the JSON of a store; none of what is no object, such as null. */
export function storedMetadata(json: unknown): Pick<Passage, "metadata"> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return {};
  const metadata = json as NonNullable<Passage["metadata"]>;
  return Object.keys(metadata).length > 0 ? { metadata } : {};
}
