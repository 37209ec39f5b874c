/**
 * Passages that say the same for a question: copies, and versions of a document where they do not
 * differ. The best of them stands for all.
 *
 * Two texts are near-duplicates if they share most of their runs of three words, by the Jaccard
 * coefficient of both sets, and differ in no word of the question: of two records that differ in a
 * number, a question with one of the numbers asks for one record.
 *
 * Source: Broder 1997, On the Resemblance and Containment of Documents.
 */

import { normalWords } from "../text/normal-form.ts";
import type { Passage } from "../text/passage.ts";

/** Words of a run (shingle). */
const RUN = 3;
/** One word of 30 differs, or two of 60. */
const MIN_RESEMBLANCE = 0.8;

interface Sketch {
  readonly passage: Passage;
  readonly words: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

/** Groups the passages of a ranking, which come best first. */
export class NearDuplicates {
  readonly #question: readonly string[];
  /** The group of each key. */
  readonly #groups = new Map<string, string>();
  /** The first passage of each group. */
  readonly #first = new Map<string, Sketch>();
  readonly #others = new Map<string, Passage[]>();

  constructor(question: string) {
    this.#question = normalWords(question);
  }

  /**
   * The key of the group of a passage: that of the first one that it nearly repeats.
   *
   * @param key of the passage, or of its document: a key is compared once
   */
  groupOf(key: string, passage: Passage): string {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const own = sketchOf(passage);
    const group = [...this.#first].find(([, first]) => this.#isSame(own, first))?.[0] ?? key;
    this.#groups.set(key, group);
    if (group === key) this.#first.set(key, own);
    else this.#others.set(group, [...(this.#others.get(group) ?? []), passage]);
    return group;
  }

  /** The passages that the first of a group stands for, best first. */
  othersOf(passage: Passage): readonly Passage[] {
    const [group] = [...this.#first].find(([, first]) => first.passage === passage) ?? [];
    return (group !== undefined && this.#others.get(group)) || [];
  }

  #isSame(a: Sketch, b: Sketch): boolean {
    if (resemblance(a.runs, b.runs) < MIN_RESEMBLANCE) return false;
    return !this.#question.some((word) => a.words.has(word) !== b.words.has(word));
  }
}

/** The Jaccard coefficient: |a and b| / |a or b|. */
function resemblance(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (Math.min(a.size, b.size) < MIN_RESEMBLANCE * Math.max(a.size, b.size)) return 0;
  let shared = 0;
  for (const run of a) if (b.has(run)) shared++;
  return shared / (a.size + b.size - shared);
}

function sketchOf(passage: Passage): Sketch {
  const words = normalWords(passage.text);
  const count = Math.max(1, words.length - RUN + 1);
  const runs = Array.from({ length: count }, (_, i) => words.slice(i, i + RUN).join(" "));
  return { passage, words: new Set(words), runs: new Set(runs) };
}
