/** Keeps the best of a stream of scored passages. */

export interface ScoredPassage {
  /** Position of the passage in the index. */
  readonly ordinal: number;
  readonly score: number;
}

/** Best first. Equal scores: the passage that was added to the index first. */
export const byScore = (a: ScoredPassage, b: ScoredPassage): number =>
  b.score - a.score || a.ordinal - b.ordinal;

/**
 * Collects the `count` best of what is pushed, and everything whose score is at most `margin` below the last of them:
 * with scores that are off by at most margin/2, nothing that belongs to the `count` best is lost.
 *
 * Memory is twice what is kept; a push costs O(1) on average.
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

  /** Best first. */
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

/** The positions of the `count` greatest values, greatest first; of equal values the first. */
export function topPositions(values: Float32Array, count: number): number[] {
  const best = new TopK(count);
  for (let i = 0; i < values.length; i++) best.push(i, values[i]!);
  return best
    .take()
    .slice(0, count)
    .map(({ ordinal }) => ordinal);
}
