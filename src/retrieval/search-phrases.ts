/**
 * The best phrases of an index for a question: an exact search if the engine's search is exact.
 *
 * No phrase of a passage has a higher score than the best start plus the best end,
 *
 *     max_i q_start . k_i + max_j q_end . k_j,
 *
 * which is twice the retrieval score of the passage for a question of the two tokens q_start and
 * q_end (ReAtt, Eq. 1). So the engines find the passages in the order of this bound. The search
 * computes the phrases of one passage after the other and ends when the bound is below the last
 * result. Source of the rule: Fagin, Lotem and Naor 2003, Optimal aggregation algorithms for
 * middleware, section 4 (the threshold algorithm).
 */

import { z } from "zod";
import { filterOption } from "../options/arguments.ts";
import { type Given, integer, type Resolved, SIGNAL } from "../options/option.ts";
import type { Passage } from "../text/passage.ts";
import { sentences } from "../text/sentences.ts";
import type { Span } from "../text/span.ts";
import type { TokenPlace } from "../text/tokens/token-places.ts";
import { documentKey } from "./documents.ts";
import {
  bestPhrases,
  type PassagePhrase,
  phraseBound,
  phraseProducts,
} from "./phrases/best-phrases.ts";
import { RETRIEVE_OPTIONS, WHERE_OPTION } from "./rank.ts";
import type { Ranking } from "./scoring/top-k.ts";
import type { IndexGeneration } from "./search/generation.ts";

/** What a phrase search counts. A sentence, passage or document is ranked by its best phrase. */
export type PhraseUnit = "phrase" | "sentence" | "passage" | "document";

/** Options of `ReAtt.phrases`. */
export const PHRASE_OPTIONS = {
  /** Number of phrases. Default 10. */
  topK: integer(1).default(10),
  /**
   * What the phrases are the best of. `phrase`: all phrases that do not overlap with a better one.
   * `sentence`, `passage`, `document`: the best phrase of each. Default `phrase`.
   */
  granularity: z
    .enum(["phrase", "sentence", "passage", "document"], "phrase, sentence, passage or document")
    .default("phrase"),
  ...WHERE_OPTION,
  /** The ids, or the ordinals, of the passages that the search may use. Default: every passage. */
  filter: filterOption,
  /**
   * Takes the passages that hybrid search finds, in its order, each with its best phrase; for the
   * granularity `passage`. `true` uses the weights that the model stores, an object gives others.
   * Default `false`: phrases of the whole index, ranked by their own scores.
   */
  hybrid: RETRIEVE_OPTIONS.hybrid,
  ...SIGNAL,
};

export interface PhraseSearchOptions
  extends Given<typeof WHERE_OPTION>,
    Given<typeof SIGNAL>,
    Given<typeof PHRASE_OPTIONS> {}

/** The options of `searchPhrases`. */
export type PhraseRequest = Omit<Resolved<typeof PHRASE_OPTIONS>, "hybrid">;

/** A phrase of an index. */
export interface FoundPhrase extends PassagePhrase {
  /** The passage. */
  readonly ordinal: number;
}

/** The places of the token keys of a passage, which are `keys` in number. */
export type PlacesOf = (
  passage: Passage,
  keys: number,
) => Promise<readonly (TokenPlace | undefined)[]>;

/** Passages of the first request; each further one asks for 4 times as many. */
const FIRST_PASSAGES = 64;

/**
 * The best phrases for each question, best first; equal scores in the order of the index.
 *
 * @param questions the phrase queries of each question: [2, dimension]
 */
export async function searchPhrases(
  index: IndexGeneration,
  questions: readonly Float32Array[],
  { topK, granularity, where, filter, signal }: PhraseRequest,
  placesOf: PlacesOf,
): Promise<FoundPhrase[][]> {
  const accept = await index.accepting({ where, filter });
  const read = passageReader(index, placesOf);
  const searches = questions.map((question) => openSearch(question, topK, granularity));
  let open = searches;
  for (let wanted = Math.max(FIRST_PASSAGES, 2 * topK); open.length > 0; wanted *= 4) {
    const count = Math.min(wanted, Math.max(1, index.passageCount));
    const vectors = open.map(({ question }) => question);
    const lists = await index.rankings(vectors, { topK: count, accept, signal });
    const unfinished: PhraseSearch[] = [];
    for (const [i, search] of open.entries()) {
      signal?.throwIfAborted();
      const isDone = await search.look(index, lists[i]!, read);
      const isAll = lists[i]!.ordinals.length < count || count >= index.passageCount;
      if (!isDone && !isAll) unfinished.push(search);
    }
    open = unfinished;
  }
  return searches.map(({ best }) => best());
}

/** A passage with what a search needs of it. */
interface ReadPassage {
  readonly passage: Passage;
  readonly places: readonly (TokenPlace | undefined)[];
}

type ReadPassages = (ordinal: number, keys: number) => Promise<ReadPassage>;

/**
 * Passages that stay in memory for later searches of a generation, the last that were read. To find
 * the words of a passage takes 2 to 3 ms, ten times as long as the search in it.
 */
const MOST_PASSAGES = 4_096; // about 20 kB each

const passagesRead = new WeakMap<object, Map<number, Promise<ReadPassage>>>();

function passageReader(index: Pick<IndexGeneration, "passages">, placesOf: PlacesOf): ReadPassages {
  const known = passagesRead.get(index) ?? new Map<number, Promise<ReadPassage>>();
  passagesRead.set(index, known);
  const read: ReadPassages = async (ordinal, keys) => {
    const passage = (await index.passages([ordinal]))[0]!;
    return { passage, places: await placesOf(passage, keys) };
  };
  return (ordinal, keys) => {
    const found = known.get(ordinal) ?? read(ordinal, keys);
    known.delete(ordinal); // the last in the order of the map
    known.set(ordinal, found);
    found.catch(() => known.delete(ordinal));
    if (known.size > MOST_PASSAGES) known.delete(known.keys().next().value!);
    return found;
  };
}

/** The search of one question. */
interface PhraseSearch {
  readonly question: Float32Array;
  /**
   * Computes the phrases of passages, which are in the order of their bounds.
   *
   * @returns whether the next passages cannot change the result
   */
  look(index: IndexGeneration, passages: Ranking, read: ReadPassages): Promise<boolean>;
  best(): FoundPhrase[];
}

function openSearch(question: Float32Array, topK: number, unit: PhraseUnit): PhraseSearch {
  const units = openUnits(topK);
  const seen = new Set<number>();
  const limit = unit === "passage" || unit === "document" ? 1 : topK;
  const lookAt = async (index: IndexGeneration, ordinal: number, read: ReadPassages) => {
    const products = phraseProducts(await index.products(question, ordinal));
    if (phraseBound(products) < units.floor()) return;
    const { passage, places } = await read(ordinal, products.starts.length);
    const areSame = sameUnit(unit, passage.text);
    const request = { limit, floor: units.floor(), areSame };
    for (const phrase of bestPhrases(products, places, request))
      units.add(
        unit === "document" ? documentKey(passage) : `${ordinal} ${phrase.first} ${phrase.last}`,
        { ...phrase, ordinal },
      );
  };
  return {
    question,
    async look(index, { ordinals, scores }, read) {
      for (const [i, ordinal] of ordinals.entries()) {
        if (2 * scores[i]! < units.floor()) return true;
        if (seen.has(ordinal)) continue;
        seen.add(ordinal);
        await lookAt(index, ordinal, read);
      }
      return false;
    },
    best: units.best,
  };
}

/** Whether two phrases of a passage are one result. */
function sameUnit(unit: PhraseUnit, text: string): (a: Span, b: Span) => boolean {
  if (unit === "phrase") return (a, b) => a.start < b.end && b.start < a.end;
  if (unit !== "sentence") return () => true;
  const ends = sentences(text).map(({ end }) => end);
  const sentenceOf = ({ start }: Span): number => ends.findIndex((end) => start < end);
  return (a, b) => sentenceOf(a) === sentenceOf(b);
}

/** Best first; then in the order of the index, and of the text. */
const byPhrase = (a: FoundPhrase, b: FoundPhrase): number =>
  b.score - a.score || a.ordinal - b.ordinal || a.first - b.first || a.last - b.last;

/** The `count` best units by their best phrases. */
function openUnits(count: number) {
  const best = new Map<string, FoundPhrase>();
  let floor = -Infinity;
  return {
    /** A phrase with a lower score cannot be in the result. */
    floor: (): number => floor,
    add(key: string, phrase: FoundPhrase): void {
      const known = best.get(key);
      if (known && byPhrase(known, phrase) <= 0) return;
      best.set(key, phrase);
      if (best.size < count) return;
      const sorted = [...best].sort(([, a], [, b]) => byPhrase(a, b));
      for (const [worse] of sorted.slice(count)) best.delete(worse);
      floor = sorted[count - 1]![1].score;
    },
    best: (): FoundPhrase[] => [...best.values()].sort(byPhrase),
  };
}
