/**
 * Inverted lists: for each centroid, which passages have a key of it.
 *
 * `lists.bin` holds list after list; a list is the differences of ascending ordinals (the first counts from -1), seven
 * bits a byte, low bits first, the high bit set on all bytes but a number's last (LEB128). `lists.u64` is
 * [centroids + 1]: where each list starts and the last one ends.
 */

/** Entries that are sorted at once: 64 MB. */
const BATCH_ENTRIES = 2 ** 24;

/** Some passages that follow each other. */
export interface CentroidPiece {
  readonly first: number;
  /** Of the tokens of each passage. */
  readonly centroids: readonly Uint32Array[];
}

/**
 * Yields the lists of all centroids as bytes, in order. `pieces` is read once for the sizes of the lists, and once for
 * every 16 million entries of them, so memory does not grow with the index.
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

/** The lists of the centroids from `first` on; `sizes` is of these. */
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

/** Calls `visit` once for every passage and centroid below `end` that it has. */
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

/** The ordinals of some lists, one after the other; those of list i count from `bases[i]`. */
export function decodeLists(lists: readonly Uint8Array[], bases: readonly number[]): Uint32Array {
  const ordinals = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0)); // a byte each at least
  let count = 0;
  for (const [i, bytes] of lists.entries()) {
    let ordinal = bases[i]! - 1;
    let difference = 0;
    let shift = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      difference |= (byte & 127) << shift;
      shift += 7;
      if (byte >= 128) continue;
      ordinal += difference;
      ordinals[count++] = ordinal;
      difference = 0;
      shift = 0;
    }
  }
  return ordinals.subarray(0, count);
}
