/** Top-k selection. */

export interface ScoredPassage {
  /** Position of the passage in the index. */
  readonly ordinal: number;
  readonly score: number;
}

/** Best first; equal scores in the order of the index. */
export const byScore = (a: ScoredPassage, b: ScoredPassage): number =>
  b.score - a.score || a.ordinal - b.ordinal;

/**
 * Collects the `count` best of a stream of scored passages, and every passage whose score is at
 * most `margin` below the last of them. If scores are off by at most margin / 2, none of the
 * `count` truly best passages is lost.
 *
 * Memory is twice the result; a push costs O(1) on average.
 */
export class TopK {
  readonly #count: number;
  readonly #margin: number;
  #kept: ScoredPassage[] = [];
  #limit: number;
  #floor = -Infinity;

  constructor(count: number, margin = 0) {
    this.#count = count;
    this.#margin = margin;
    this.#limit = 2 * count + 64;
  }

  push(ordinal: number, score: number): void {
    if (score < this.#floor) return;
    this.#kept.push({ ordinal, score });
    if (this.#kept.length >= this.#limit) this.#prune();
  }

  /** Everything collected, best first. */
  take(): ScoredPassage[] {
    this.#prune();
    return this.#kept;
  }

  #prune(): void {
    this.#kept.sort(byScore);
    const last = this.#kept[this.#count - 1];
    if (!last) return;
    this.#floor = last.score - this.#margin;
    const end = this.#kept.findIndex(({ score }) => score < this.#floor);
    if (end >= 0) this.#kept.length = end;
    this.#limit = Math.max(this.#limit, 2 * this.#kept.length);
  }
}

/**
 * The positions of the `count` greatest values, greatest first; the first of equal values first.
 *
 * A heap with the worst of the best values on top, in O(values + count log(count) log(values)) time
 * for values in any order, and without an object for each.
 */
export function topPositions(values: Float32Array, count: number): number[] {
  const heap = new Uint32Array(Math.min(count, values.length));
  const isWorse = (a: number, b: number): boolean =>
    values[a]! < values[b]! || (values[a] === values[b] && a > b);
  /** Puts `position` at the place `at` or below it, where it is not worse than its children. */
  const sink = (position: number, at: number): void => {
    for (let child = 2 * at + 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isWorse(heap[child + 1]!, heap[child]!)) child++;
      if (!isWorse(heap[child]!, position)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = position;
  };
  for (let i = 0; i < heap.length; i++) heap[i] = i;
  for (let at = heap.length >>> 1; at-- > 0; ) sink(heap[at]!, at);
  let worst = values[heap[0]!]!;
  for (let i = heap.length; i < values.length; i++)
    if (values[i]! > worst) {
      sink(i, 0);
      worst = values[heap[0]!]!;
    }
  return Array.from(heap).sort((a, b) => values[b]! - values[a]! || a - b);
}
