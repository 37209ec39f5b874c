/**
 * Finds repeated ids in corpora of any size. Needs about 30 bytes an id outside the JavaScript
 * heap. A Map of strings needs about 80 bytes an id inside the heap and is limited to 2^24 entries
 * (Wikipedia has 21 million passages).
 */

import { hash } from "node:crypto";

/**
 * A slot is 96 bits of the id's SHA-1 and its line. Two of 10^8 ids share 96 bits with a
 * probability of 10^-13.
 */
const SLOT_WORDS = 4;
const LINE = 3; // word of the line; 0 marks a free slot, since lines are counted from 1
const INITIAL_SLOTS = 2 ** 12;
const MAX_LOAD = 0.75;

export interface IdTable {
  /** Returns the line on which `id` was first seen. Stores and returns `line` if the id is new. */
  firstLine(id: string, line: number): number;
}

/** Creates a hash table with open addressing and linear probing. */
export function createIdTable(): IdTable {
  let slots = new Uint32Array(INITIAL_SLOTS * SLOT_WORDS);
  let count = 0;

  function grow(): void {
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += SLOT_WORDS) {
      const entry = old.subarray(at, at + SLOT_WORDS);
      if (entry[LINE] !== 0) slots.set(entry, findSlot(slots, entry));
    }
  }

  return {
    firstLine(id, line) {
      // UTF-16, because UTF-8 cannot represent lone surrogates
      const digest = hash("sha1", Buffer.from(id, "utf16le"), "buffer");
      const words = [0, 4, 8].map((byte) => digest.readUInt32LE(byte));
      const entry = Uint32Array.from([...words, line]);
      const at = findSlot(slots, entry);
      if (slots[at + LINE] !== 0) return slots[at + LINE]!;
      slots.set(entry, at);
      if (++count * SLOT_WORDS > slots.length * MAX_LOAD) grow();
      return line;
    },
  };
}

/** The first word of the slot with the hash of `entry`, or of the free slot for it. */
function findSlot(slots: Uint32Array, entry: Uint32Array): number {
  const mask = slots.length - 1;
  let at = (entry[0]! * SLOT_WORDS) & mask;
  while (
    slots[at + LINE] !== 0 &&
    (slots[at] !== entry[0] || slots[at + 1] !== entry[1] || slots[at + 2] !== entry[2])
  ) {
    at = (at + SLOT_WORDS) & mask;
  }
  return at;
}
