/** The corpus as training sees it: all ids, and the texts of those passages that some question is close to. */

import { createHash, type Hash } from "node:crypto";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import type { Passage } from "../../text/passage.ts";
import { readPassages } from "../../text/read-passages.ts";

export interface CorpusSurvey {
  /** In the order of the file. */
  readonly ids: readonly string[];
  /** SHA-256 over all passages: says whether it is still the corpus that a run began with. */
  readonly digest: string;
}

/** Reads the corpus once. @throws {InputError} as `readPassages` does. */
export async function surveyCorpus(file: string, signal?: AbortSignal): Promise<CorpusSurvey> {
  const hash = createHash("sha256");
  const ids: string[] = [];
  for await (const passage of readPassages(file, signal)) {
    update(hash, passage);
    ids.push(passage.id);
  }
  return { ids, digest: hash.digest("hex") };
}

/**
 * All passages of a corpus whose digest was `digest` when the run began.
 *
 * @throws {InputError} at the end, where it is another by now.
 */
export async function* readUnchanged(
  file: string,
  digest: string,
  signal?: AbortSignal,
): AsyncGenerator<Passage, void> {
  const hash = createHash("sha256");
  for await (const passage of readPassages(file, signal)) {
    update(hash, passage);
    yield passage;
  }
  if (hash.digest("hex") === digest) return;
  throw new InputError({
    where: file,
    expected: "the corpus that the run began with",
    got: "another one",
    remedy: "put the old file back, or begin a new run",
  });
}

/**
 * The passages named, by id, read in one pass over the corpus. They are held in memory, the rest of the corpus is not: a
 * million passages of 100 words take some 0.9 GB.
 *
 * @param digest the corpus's, when the run began
 * @throws {InputError} where the corpus is another one by now, or has no such passage
 */
export async function pickPassages(
  file: string,
  ids: Iterable<string>,
  digest: string,
  signal?: AbortSignal,
): Promise<Map<string, Passage>> {
  const missing = new Set(ids);
  const picked = new Map<string, Passage>();
  for await (const passage of readUnchanged(file, digest, signal))
    if (missing.delete(passage.id)) picked.set(passage.id, passage);
  const [unknown] = missing;
  if (unknown === undefined) return picked;
  throw new InputError({
    where: file,
    expected: `${picked.size + missing.size} passages that training needs`,
    got: `${missing.size} of them not there, the first ${excerpt(unknown)}`,
    remedy: "name the corpus that the ids of the training file are of",
  });
}

const update = (hash: Hash, { id, title, text }: Passage): Hash =>
  hash.update(JSON.stringify([id, title, text]));
