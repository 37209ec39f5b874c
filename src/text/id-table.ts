/**
 * Which line an id was first seen on, for corpora of any size: about 30 bytes an id outside the JavaScript heap, where a Map of
 * strings takes about 80 inside it and ends at 2^24 entries (Wikipedia has 21 million passages).
 */

import { hash } from "node:crypto";

/** A slot is 96 bits of the id's SHA-1 and its line. Among 10^8 ids two share those bits with a chance of 10^-13. */
const SLOT_WORDS = 4;
const LINE = 3; // 0 marks a free slot, since lines are counted from 1
const INITIAL_SLOTS = 2 ** 12;
const MAX_LOAD = 0.75; // the share of slots in use

/** Remembers ids and their lines: open addressing, linear probing, at most three quarters full. */
export function createIdTable(): { firstLine(id: string, line: number): number } {
  let slots = new Uint32Array(INITIAL_SLOTS * SLOT_WORDS);
  let count = 0;

  function grow(): void {
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += SLOT_WORDS) {
      const entry = old.subarray(at, at + SLOT_WORDS);
      if (entry[LINE] !== 0) slots.set(entry, find(slots, entry));
    }
  }

  return {
    /** The line on which `id` was seen first; `line` itself, which is then remembered, when it is new. */
    firstLine(id, line) {
      const digest = hash("sha1", id, "buffer");
      const entry = Uint32Array.of(
        digest.readUInt32LE(0),
        digest.readUInt32LE(4),
        digest.readUInt32LE(8),
        line,
      );
      const at = find(slots, entry);
      if (slots[at + LINE] !== 0) return slots[at + LINE]!;
      slots.set(entry, at);
      if (++count * SLOT_WORDS > slots.length * MAX_LOAD) grow();
      return line;
    },
  };
}

/** Where the slot of this entry's hash begins, or the free slot where it belongs. */
function find(slots: Uint32Array, entry: Uint32Array): number {
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
