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
import type { IndexGeneration, SearchHit } from "./search/token-index.ts";

/** Returns the `topK` best passages for each question, best first; fewer if there are fewer. */
export type RankPassages<Q> = (questions: readonly Q[], topK: number) => Promise<SearchHit[][]>;

type Named = Pick<Passage, "id" | "title" | "document">;

/** The name of the document of a passage. */
export const documentOf = ({ id, title, document }: Named): string => document ?? (title || id);

/** Differs between documents, also if the id of one is the title of another. */
export const documentKey = ({ id, title, document }: Named): string =>
  document === undefined ? (title ? `title ${title}` : `id ${id}`) : `document ${document}`;

/**
 * Returns the best passage of each of the `topK` best documents, best first.
 *
 * It requests 2 `topK` passages and doubles that number until they belong to enough documents or
 * all passages are read (section 3, footnote 3).
 */
export async function rankDocuments<Q>(
  index: Pick<IndexGeneration, "passageCount" | "passages">,
  rank: RankPassages<Q>,
  questions: readonly Q[],
  topK: number,
): Promise<SearchHit[][]> {
  const names = new Map<number, string>();
  const documentAt = async (ordinal: number): Promise<string> => {
    const known = names.get(ordinal);
    if (known !== undefined) return known;
    const name = documentKey((await index.passages([ordinal]))[0]!);
    names.set(ordinal, name);
    return name;
  };
  const found: SearchHit[][] = questions.map(() => []);
  let open = [...questions.keys()];
  for (let wanted = 2 * topK; open.length > 0; wanted *= 2) {
    const count = Math.min(wanted, Math.max(1, index.passageCount));
    const asked = open.map((i) => questions[i]!);
    const lists = await rank(asked, count);
    const unfinished = [];
    for (const [place, i] of open.entries()) {
      found[i] = await bestOfEach(lists[place]!, topK, documentAt);
      const isAll = lists[place]!.length < count || count >= index.passageCount;
      if (found[i].length < topK && !isAll) unfinished.push(i);
    }
    open = unfinished;
  }
  return found;
}

/** The first hit of each document, up to `topK`. */
async function bestOfEach(
  hits: readonly SearchHit[],
  topK: number,
  documentAt: (ordinal: number) => Promise<string>,
): Promise<SearchHit[]> {
  const best = new Map<string, SearchHit>();
  for (const hit of hits) {
    if (best.size === topK) break;
    const name = await documentAt(hit.ordinal);
    if (!best.has(name)) best.set(name, hit);
  }
  return [...best.values()];
}
