/** BM25 over the passages of a token index. */

import type { Passage } from "../../text/passage.ts";
import type { SearchHit, SearchOptions, TokenIndex } from "../search/token-index.ts";
import { type Bm25Parameters, buildBm25 } from "./bm25.ts";
import type { InvertedIndexOptions } from "./inverted-index.ts";

/** Searches the state of the token index that it was made from. */
export interface LexicalIndex {
  /** The best of the passages that share a term with the question, best first; equal scores in the order of the index. */
  search(question: string, options: Pick<SearchOptions, "topK" | "filter">): SearchHit[];
  /** The scores of the passages with these ids, whatever their rank. */
  score(question: string, ids: readonly string[]): number[];
}

/** Reads every passage of the index; BM25 is kept in memory (`buildBm25` says how much). */
export async function openLexicalIndex(
  index: Pick<TokenIndex, "entries">,
  options: InvertedIndexOptions & Partial<Bm25Parameters> = {},
): Promise<LexicalIndex> {
  const ordinals = new Map<string, number>();
  async function* passages(): AsyncGenerator<Passage, void> {
    for await (const [ordinal, passage] of index.entries()) {
      ordinals.set(passage.id, ordinal);
      yield passage;
    }
  }
  const bm25 = await buildBm25(passages(), options);
  return {
    search(question, { topK, filter }) {
      const accept =
        typeof filter === "function"
          ? (id: string) => filter(ordinals.get(id)!)
          : filter?.has.bind(filter);
      return bm25
        .search(question, topK, { accept })
        .map(({ id, score }) => ({ id, ordinal: ordinals.get(id)!, score }));
    },
    score: (question, ids) => bm25.score(question, ids),
  };
}
