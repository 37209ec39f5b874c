/**
 * Document retrieval. The score of a document is that of its best passage:
 *
 *     f(d, q) = max over the passages p of d:  f(p, q)
 *
 * Passages with the same document id belong to one document. Passages without a document id belong
 * to one document if they have the same title, as the articles of DPR's Wikipedia do. A passage
 * with neither is a document; its name is its id. Source: Lee et al. 2021, Phrase Retrieval Learns
 * Passage Retrieval, Too, section 3.
 */

import type { Passage } from "../text/passage.ts";
import type { Ranking } from "./scoring/top-k.ts";

/** Returns the `topK` best passages for each question, best first; fewer if there are fewer. */
export type RankPassages<Q> = (
  questions: readonly Q[],
  topK: number,
) => Promise<readonly Ranking[]>;

type Named = Pick<Passage, "id" | "title" | "document" | "collection">;

/** The name of the document of a passage. */
export const documentOf = ({ id, title, document }: Named): string => document ?? (title || id);

/** Differs between documents, also if the id of one is the title of another. */
export const documentKey = ({ id, title, document, collection }: Named): string =>
  `${collection ?? ""}\0${
    document === undefined ? (title ? `title ${title}` : `id ${id}`) : `document ${document}`
  }`;

/**
 * Returns the best passage of each of the `topK` best groups, such as documents, best first.
 *
 * It requests passages and doubles their number until they belong to enough groups or all passages
 * are read (section 3, footnote 3).
 *
 * @param passageCount of the index
 * @param keyOf the group of the passage at an ordinal (`documentKey`) for a question, by its place
 * @param first passages that it requests first: 2 `topK` for documents
 */
export async function rankGroups<Q>(
  passageCount: number,
  keyOf: (ordinal: number, question: number) => Promise<string>,
  rank: RankPassages<Q>,
  questions: readonly Q[],
  { topK, first }: { readonly topK: number; readonly first: number },
): Promise<Ranking[]> {
  const found: Ranking[] = [];
  let open = [...questions.keys()];
  for (let wanted = first; open.length > 0; wanted *= 2) {
    const count = Math.min(wanted, Math.max(1, passageCount));
    const rankings = await rank(
      open.map((i) => questions[i]!),
      count,
    );
    const unfinished = [];
    for (const [place, i] of open.entries()) {
      const passages = rankings[place]!;
      const best = await bestOfEach(passages, topK, (ordinal) => keyOf(ordinal, i));
      found[i] = best;
      const isAll = passages.ordinals.length < count || count >= passageCount;
      if (best.ordinals.length < topK && !isAll) unfinished.push(i);
    }
    open = unfinished;
  }
  return found;
}

/** The first passage of each group, up to `topK`. */
async function bestOfEach(
  { ordinals, scores }: Ranking,
  topK: number,
  keyOf: (ordinal: number) => Promise<string>,
): Promise<Ranking> {
  const places = new Map<string, number>(); // in the ranking, by group
  for (const [place, ordinal] of ordinals.entries()) {
    if (places.size === topK) break;
    const key = await keyOf(ordinal);
    if (!places.has(key)) places.set(key, place);
  }
  return {
    ordinals: Uint32Array.from(places.values(), (place) => ordinals[place]!),
    scores: Float64Array.from(places.values(), (place) => scores[place]!),
  };
}
