/**
 * Maps passage ids to ordinals, with 16 bytes a passage on disk (`ids.u64`).
 *
 * The key is the first 64 bits of the SHA-256 of an id. Two ids can share them (21 million passages
 * contain such a pair with a chance of 1 in 80,000), so a caller compares the id of the passage it
 * finds. text/id-table.ts is another table: it finds duplicate ids while passages are read, stores
 * line numbers with 96 bits of hash, and is never written to disk.
 */

import { createHash } from "node:crypto";

/** The ids of a segment under construction. It doubles its size when full and stores no strings. */
export class IdHashTable {
  #hashes: BigUint64Array = new BigUint64Array(1024);
  /**
   * Open addressing with linear probing. A slot is the ordinal + 1, or 0 if free. At most half of
   * the slots are in use.
   */
  #slots: Uint32Array = new Uint32Array(2048);
  #count = 0;

  /** Gives `id` the next ordinal. Returns the earlier ordinals with the same hash: usually none. */
  add(id: string): number[] {
    if (this.#count === this.#hashes.length) this.#grow();
    const hash = hashOf(id);
    const earlier: number[] = [];
    let slot = this.#start(hash);
    for (; this.#slots[slot]; slot = (slot + 1) % this.#slots.length) {
      const ordinal = this.#slots[slot]! - 1;
      if (this.#hashes[ordinal] === hash) earlier.push(ordinal);
    }
    this.#slots[slot] = this.#count + 1;
    this.#hashes[this.#count++] = hash;
    return earlier;
  }

  /** [passages, 2]: hash and ordinal, sorted by hash, then by ordinal. */
  sorted(): BigUint64Array {
    const ordinals = Uint32Array.from({ length: this.#count }, (_, ordinal) => ordinal);
    const hashes = this.#hashes;
    ordinals.sort((a, b) => (hashes[a]! < hashes[b]! ? -1 : hashes[a]! > hashes[b]! ? 1 : a - b));
    const rows = new BigUint64Array(2 * this.#count);
    ordinals.forEach((ordinal, row) => {
      rows[2 * row] = hashes[ordinal]!;
      rows[2 * row + 1] = BigInt(ordinal);
    });
    return rows;
  }

  #start(hash: bigint): number {
    return Number(hash % BigInt(this.#slots.length));
  }

  #grow(): void {
    const hashes = this.#hashes;
    this.#hashes = new BigUint64Array(2 * hashes.length);
    this.#hashes.set(hashes);
    this.#slots = new Uint32Array(4 * hashes.length);
    for (let ordinal = 0; ordinal < this.#count; ordinal++) {
      let slot = this.#start(hashes[ordinal]!);
      while (this.#slots[slot]) slot = (slot + 1) % this.#slots.length;
      this.#slots[slot] = ordinal + 1;
    }
  }
}

/**
 * The ordinals with the hash of `id` in a sorted table of `count` rows. `rows` reads [count, 2]
 * rows by position.
 */
export async function findOrdinals(
  id: string,
  count: number,
  rows: (first: number, count: number) => Promise<BigUint64Array>,
): Promise<number[]> {
  const hash = hashOf(id);
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((await rows(middle, 1))[0]! < hash) low = middle + 1;
    else high = middle;
  }
  const found: number[] = [];
  for (; low < count; low++) {
    const row = await rows(low, 1);
    if (row[0] !== hash) break;
    found.push(Number(row[1]));
  }
  return found;
}

const hashOf = (id: string): bigint => createHash("sha256").update(id).digest().readBigUInt64LE();
