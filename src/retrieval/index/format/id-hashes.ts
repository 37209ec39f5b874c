/**
 * From passage ids to ordinals, on 16 bytes a passage.
 *
 * An id is found by the first 64 bits of its SHA-256. Two ids may share them (with 21 million passages in one case of
 * 80,000), so whoever finds an ordinal here compares the id of that passage.
 */

import { createHash } from "node:crypto";

/** The ids of a segment that is being written. Grows by doubling; keeps no strings. */
export class IdHashTable {
  #hashes: BigUint64Array = new BigUint64Array(1024);
  /** Open addressing with linear probing: ordinal + 1, 0 where free. At most half is taken. */
  #slots: Uint32Array = new Uint32Array(2048);
  #count = 0;

  /** Gives `id` the next ordinal. Returns the earlier ordinals that may have the same id: none, as a rule. */
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

  /** [passages, 2]: hash and ordinal, by hash and then by ordinal. */
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

/** The ordinals in a sorted table of `count` rows that may have `id`. `rows` reads [count, 2] rows by position. */
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
