/** Rankings, and the selection of the best. */

/** Passages of an index with their scores. */
export interface Ranking {
  /** The position of each passage in the index. */
  readonly ordinals: Uint32Array;
  /** The score of each passage. */
  readonly scores: Float64Array;
}

/** Best first; equal scores in the order of the index. The `most` best, or all. */
export function ranked({ ordinals, scores }: Ranking, most = Infinity): Ranking {
  const order = Uint32Array.from(ordinals.keys())
    .sort((a, b) => scores[b]! - scores[a]! || ordinals[a]! - ordinals[b]!)
    .subarray(0, most);
  return {
    ordinals: order.map((place) => ordinals[place]!),
    scores: Float64Array.from(order, (place) => scores[place]!),
  };
}

/** Passages for which there is memory at first. */
const FIRST_PLACES = 64;

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
  #ordinals: Uint32Array = new Uint32Array(FIRST_PLACES);
  #scores: Float64Array = new Float64Array(FIRST_PLACES);
  #length = 0;
  /** The number of passages at which the worse ones are dropped. */
  #limit: number;
  #floor = -Infinity;

  constructor(count: number, margin = 0) {
    this.#count = count;
    this.#margin = margin;
    this.#limit = 2 * count + FIRST_PLACES;
  }

  push(ordinal: number, score: number): void {
    if (score < this.#floor) return;
    if (this.#length === this.#ordinals.length) this.#grow();
    this.#ordinals[this.#length] = ordinal;
    this.#scores[this.#length++] = score;
    if (this.#length >= this.#limit) this.#prune();
  }

  /** Everything collected, or the `most` best, best first. */
  take(most = Infinity): Ranking {
    this.#prune();
    const length = Math.min(most, this.#length);
    return {
      ordinals: this.#ordinals.slice(0, length),
      scores: this.#scores.slice(0, length),
    };
  }

  #grow(): void {
    const ordinals = new Uint32Array(2 * this.#length);
    const scores = new Float64Array(2 * this.#length);
    ordinals.set(this.#ordinals);
    scores.set(this.#scores);
    this.#ordinals = ordinals;
    this.#scores = scores;
  }

  #prune(): void {
    const { ordinals, scores } = ranked({
      ordinals: this.#ordinals.subarray(0, this.#length),
      scores: this.#scores.subarray(0, this.#length),
    });
    this.#ordinals.set(ordinals);
    this.#scores.set(scores);
    if (this.#length < this.#count) return;
    this.#floor = scores[this.#count - 1]! - this.#margin;
    const end = scores.findIndex((score) => score < this.#floor);
    if (end >= 0) this.#length = end;
    this.#limit = Math.max(this.#limit, 2 * this.#length);
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
