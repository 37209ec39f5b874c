/** What of the passages of changed files is in the index already. Only the rest is encoded. */

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { readJsonLines } from "../io/json/json-lines.ts";
import type { PassageLabel } from "../retrieval/index/maintain/labels.ts";
import type { Passage } from "../text/passage.ts";
import { parsePassage } from "../text/read-passages.ts";

export interface Differences {
  /** The ids of passages that the index has as they are. */
  readonly stored: ReadonlySet<string>;
  /** Passages whose title and text the index has: they get another id or other fields. */
  readonly labels: readonly PassageLabel[];
  /** The ids that no file has any more. */
  readonly deleted: readonly string[];
}

/**
 * Compares passages with an index.
 *
 * @param file the passages, as JSON Lines
 * @param stale the ids that the index has of the changed files
 */
export async function compareWithIndex(
  { find }: { readonly find: (id: string) => Promise<Passage | undefined> },
  file: string,
  stale: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Pick<Differences, "stored" | "labels">> {
  const withText = new Map<string, string>(); // a digest of title and text -> id
  for (const id of stale) {
    const passage = await find(id);
    if (passage) withText.set(digestOf(passage), id);
  }
  const stored = new Set<string>();
  const labels: PassageLabel[] = [];
  for await (const passage of passagesOf(file, signal)) {
    const before = await find(passage.id);
    if (isDeepStrictEqual(before, passage)) {
      stored.add(passage.id);
      continue;
    }
    const digest = digestOf(passage);
    const from = before && digestOf(before) === digest ? before.id : withText.get(digest);
    const { id, document, metadata } = passage;
    if (from !== undefined) labels.push({ from, id, document, metadata });
  }
  return { stored, labels };
}

const digestOf = ({ title, text }: Passage): string =>
  createHash("sha256")
    .update(JSON.stringify([title, text]))
    .digest("base64");

/** Identifies a text, whatever its title: that of many files is their name. */
export const textDigestOf = ({ text }: Passage): string =>
  createHash("sha256").update(text).digest("base64");

/** The texts of a file of passages. */
export async function textDigestsOf(
  file: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> {
  const digests = new Set<string>();
  for await (const passage of passagesOf(file, signal)) digests.add(textDigestOf(passage));
  return digests;
}

/** The passages of a file that may have none. */
export async function* passagesOf(
  file: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Passage, void> {
  for await (const { value, where } of readJsonLines(file, signal))
    yield parsePassage(value, where);
}
