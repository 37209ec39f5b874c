/**
 * Titles and headings as queries. The passages with the title are relevant, and so is the passage
 * with the heading.
 *
 * Source: Meng et al. 2023, "AugTriever: Unsupervised Dense Retrieval and Domain Adaptation by
 * Scalable Data Augmentation" (titles as queries). The filters are ours:
 *
 * - A title of more than 5 % of the passages, and of more than ten, says what a document is and not
 *   what it is about ("Abstract", "Editorial"). A document of ten passages or fewer always counts.
 * - A title without two letters ("1", "§ 4") is a number.
 * - The title is removed from the passages that are read, and so is its copy at the beginning of a
 *   text. A passage that has nothing else is left out: equal words need no training.
 */

import { createRandom } from "../../../math/random.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Extent } from "../../../text/sentences.ts";
import { type Example, readAs } from "../example.ts";
import { defineSource, type Source } from "./source.ts";
import { keysOf, wordsOf } from "./words.ts";

const MAX_SHARE = 0.05;
const ALWAYS_ALLOWED = 10;
/** Passages that an example names. */
const MAX_RELEVANT = 50;
/** In UTF-16 code units. A longer title is a paragraph. */
const MAX_TITLE_LENGTH = 256;
const MAX_HEADING_WORDS = 12;
/** Words of the text below a heading, so that it is more than a list. */
const MIN_WORDS_BELOW = 15;

interface Titled {
  /** Of the first passage. */
  readonly title: string;
  readonly relevant: string[];
  /** Passages that have the title, usable or not. */
  count: number;
}

/** About `wanted` titles and headings. The titles of all passages are held in memory. */
export const titles: Source<"titles"> = defineSource({
  name: "titles",
  relevant: "the passages below the title",
  stage: "making queries of titles",
  draws: 1.25,
  suits: () => true,
  async *examples(corpus, { wanted, seed }) {
    const titled = new Map<string, Titled>();
    const headings: Example[] = [];
    for await (const passage of corpus.passages()) {
      addTitle(titled, passage);
      if (headings.length < wanted) headings.push(...headingsOf(passage));
    }
    const limit = Math.max(ALWAYS_ALLOWED, MAX_SHARE * corpus.size);
    const usable = [...titled.values()].filter(
      ({ count, relevant }) => count <= limit && relevant.length > 0,
    );
    const all = [...usable.map(titleExample), ...headings];
    yield* createRandom(seed, "titles").shuffle(all).slice(0, wanted);
  },
});

function addTitle(titled: Map<string, Titled>, passage: Passage): void {
  const title = passage.title.trim();
  if (title.length > MAX_TITLE_LENGTH || !/\p{L}.*\p{L}/su.test(title)) return;
  const key = keysOf(wordsOf(title)).join(" ");
  const entry = titled.get(key) ?? { title, relevant: [], count: 0 };
  titled.set(key, entry);
  entry.count++;
  const read = readAs({ title }, passage);
  const isUsable = read !== undefined && wordsOf(read.text).length > 0;
  if (isUsable && entry.relevant.length < MAX_RELEVANT) entry.relevant.push(passage.id);
}

const titleExample = ({ title, relevant }: Titled): Example => ({
  id: `title:${relevant[0]}`,
  question: title,
  answers: [],
  relevant,
  removal: { title },
});

function headingsOf(passage: Passage): Example[] {
  return headings(passage.text).map(({ heading, extent }) => ({
    id: `heading:${passage.id}:${extent.start}`,
    question: heading,
    answers: [],
    relevant: [passage.id],
    removal: { cut: { passageId: passage.id, extent } },
  }));
}

/**
 * The headings of a text: lines of Markdown that begin with `#`, and short lines between blank
 * lines without a full stop. A longer paragraph follows each.
 */
export function headings(text: string): { heading: string; extent: Extent }[] {
  const lines = [...text.matchAll(/[^\n]+/gu)];
  return lines.flatMap(({ index, 0: line }, i) => {
    const below = lines[i + 1]?.[0] ?? "";
    const heading = line.replace(/^#{1,6}\s+/u, "").trim();
    const isMarked = /^#{1,6}\s/u.test(line);
    const isAlone = /(?:^|\n[^\S\n]*\n)$/u.test(text.slice(0, index));
    const words = wordsOf(heading).length;
    const isHeading =
      (isMarked || (isAlone && !/[.!?…؟।。！？:;,]["'”’»)\]]*$/u.test(heading))) &&
      words > 0 &&
      words <= MAX_HEADING_WORDS &&
      /\p{L}.*\p{L}/u.test(heading) &&
      wordsOf(below).length >= MIN_WORDS_BELOW;
    return isHeading ? [{ heading, extent: { start: index, end: index + line.length } }] : [];
  });
}
