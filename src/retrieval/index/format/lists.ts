/**
 * Inverted lists: for each centroid, the passages with a key of that centroid.
 *
 * `lists.bin` holds the lists one after the other. A list stores the differences of ascending
 * ordinals (the first from -1) in LEB128: seven bits a byte, low bits first, with the high bit set
 * on all but the last byte of a number. `lists.u64` is [centroids + 1]: the start of each list and
 * the end of the last.
 */

/** List entries that are sorted in memory at a time: 64 MB. */
const BATCH_ENTRIES = 2 ** 24;

/** The centroids of consecutive passages. */
export interface CentroidPiece {
  readonly first: number;
  /** The centroids of the tokens of each passage. */
  readonly centroids: readonly Uint32Array[];
}

/**
 * Yields the encoded lists of all centroids in order. It reads `pieces` once for the sizes of the
 * lists, and once for every 16 million entries, so its memory does not grow with the index.
 */
export async function* encodeLists(
  centroidCount: number,
  pieces: () => AsyncIterable<CentroidPiece>,
): AsyncGenerator<Uint8Array> {
  const sizes = new Uint32Array(centroidCount);
  for await (const piece of pieces())
    forEachEntry(piece, centroidCount, (centroid) => {
      sizes[centroid]!++;
    });
  for (let first = 0; first < centroidCount; ) {
    let entries = sizes[first]!;
    let end = first + 1;
    while (end < centroidCount && entries + sizes[end]! <= BATCH_ENTRIES) entries += sizes[end++]!;
    yield* encodeBatch(sizes.subarray(first, end), first, pieces);
    first = end;
  }
}

/** The lists of the centroids from `first`, whose sizes are `sizes`. */
async function* encodeBatch(
  sizes: Uint32Array,
  first: number,
  pieces: () => AsyncIterable<CentroidPiece>,
): AsyncGenerator<Uint8Array> {
  const lists = Array.from(sizes, (size) => new Uint32Array(size));
  const filled = new Uint32Array(sizes.length);
  for await (const piece of pieces())
    forEachEntry(piece, first + sizes.length, (centroid, ordinal) => {
      if (centroid >= first) lists[centroid - first]![filled[centroid - first]!++] = ordinal;
    });
  for (const list of lists) yield encodeList(list);
}

/** Calls `visit` once for every pair of a passage and one of its centroids below `end`. */
function forEachEntry(
  { first, centroids }: CentroidPiece,
  end: number,
  visit: (centroid: number, ordinal: number) => void,
): void {
  for (const [p, unsorted] of centroids.entries()) {
    const own = unsorted.slice().sort();
    for (let i = 0; i < own.length && own[i]! < end; i++)
      if (i === 0 || own[i] !== own[i - 1]) visit(own[i]!, first + p);
  }
}

export function encodeList(ordinals: Uint32Array): Uint8Array {
  const bytes: number[] = [];
  let last = -1;
  for (const ordinal of ordinals) {
    let difference = ordinal - last;
    for (; difference >= 128; difference >>>= 7) bytes.push((difference & 127) | 128);
    bytes.push(difference);
    last = ordinal;
  }
  return Uint8Array.from(bytes);
}
