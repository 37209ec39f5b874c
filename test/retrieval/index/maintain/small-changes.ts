/**
 * Hundreds of small changes to an index, for readers.test.ts and the process that searches
 * meanwhile.
 */

import { addPassages } from "../../../../src/retrieval/index/maintain/update.ts";
import { deletePassages } from "../../../../src/retrieval/maintain.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { encode, header, makePassages } from "../../support.ts";

export const FIRST_STATE: readonly Passage[] = makePassages(150);

/**
 * Even generations add up to three passages, some of which replace others. Odd ones delete as
 * many.
 */
function changeOf(generation: number): {
  readonly added: readonly Passage[];
  readonly gone: ReadonlySet<string>;
} {
  const ids = [...new Set([7, 11, 13].map((factor) => `p${(generation * factor) % 190}`))];
  const texts = makePassages(ids.length, generation);
  const added = generation % 2 === 0 ? ids.map((id, i) => ({ ...texts[i]!, id })) : [];
  return { added, gone: new Set(ids) };
}

/**
 * The passages of `generation`, in the order of the index, from those of the previous generation.
 */
export function nextState(before: readonly Passage[], generation: number): readonly Passage[] {
  const { added, gone } = changeOf(generation);
  return [...before.filter(({ id }) => !gone.has(id)), ...added];
}

/** Changes the index from the previous generation to `generation`. */
export async function change(directory: string, generation: number): Promise<void> {
  const { added, gone } = changeOf(generation);
  if (added.length > 0) await addPassages(added, { directory, header, encode });
  else await deletePassages(gone, { directory });
}
