/**
 * The passages of a store that an open index has seen. Each has an ordinal from then on, and
 * another one after a change, so that no question mixes what it found with what came later. The
 * last ones stay in memory: a question needs its candidates several times.
 */

import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import { digestOf } from "./digest.ts";
import type { Store, StoredPassage } from "./store.ts";

/** Passages that the store is asked for at once; their codes take some MB. */
const GET_BATCH = 500;
/** Bytes that a passage takes beside its texts and codes. */
const OVERHEAD = 500;

export class SeenPassages {
  readonly #store: Store;
  readonly #memoryLimit: number;
  readonly #ids: string[] = [];
  /** By the digest of a passage. */
  readonly #ordinals = new Map<string, number>();
  /** By ordinal; the last used comes last. */
  readonly #rows = new Map<number, StoredPassage>();
  #bytes = 0;

  /** @param memoryLimit bytes of passages with their codes that stay in memory */
  constructor(store: Store, memoryLimit: number) {
    this.#store = store;
    this.#memoryLimit = memoryLimit;
  }

  get count(): number {
    return this.#ids.length;
  }

  id(ordinal: number): string {
    return this.#ids[ordinal]!;
  }

  ordinalOf(passage: Passage): number {
    const digest = digestOf(passage);
    const ordinal = this.#ordinals.get(digest) ?? this.#ids.push(passage.id) - 1;
    this.#ordinals.set(digest, ordinal);
    return ordinal;
  }

  /** A passage that is in memory. */
  known(ordinal: number): StoredPassage | undefined {
    return this.#rows.get(ordinal);
  }

  /** The ordinals of passages that the store has just returned, in the order of their ids. */
  add(found: readonly StoredPassage[]): Uint32Array {
    this.#forgetOldest(); // before: what is found now is used next
    const sorted = [...found].sort((a, b) => (a.passage.id < b.passage.id ? -1 : 1));
    return Uint32Array.from(sorted, (row) => {
      const ordinal = this.ordinalOf(row.passage);
      this.#keep(ordinal, row);
      return ordinal;
    });
  }

  async get(ordinal: number): Promise<StoredPassage> {
    const [row] = await this.getAll([ordinal]);
    this.#keep(ordinal, row!);
    return row!;
  }

  /** Many passages, with few questions to the store. */
  async getAll(wanted: readonly number[]): Promise<StoredPassage[]> {
    const found = new Map(wanted.map((ordinal) => [ordinal, this.#rows.get(ordinal)]));
    const missing = [...found.keys()].filter((ordinal) => !found.get(ordinal));
    for (let first = 0; first < missing.length; first += GET_BATCH) {
      const some = missing.slice(first, first + GET_BATCH).map((ordinal) => this.id(ordinal));
      for (const row of await this.#store.get(some)) found.set(this.ordinalOf(row.passage), row);
    }
    return wanted.map((ordinal) => {
      const row = found.get(ordinal);
      if (!row) throw deleted(this.#store.address, this.id(ordinal));
      return row;
    });
  }

  #keep(ordinal: number, row: StoredPassage): void {
    const before = this.#rows.get(ordinal);
    this.#bytes += sizeOf(row) - (before ? sizeOf(before) : 0);
    this.#rows.delete(ordinal);
    this.#rows.set(ordinal, row);
  }

  #forgetOldest(): void {
    for (const [ordinal, row] of this.#rows) {
      if (this.#bytes <= this.#memoryLimit) return;
      this.#rows.delete(ordinal);
      this.#bytes -= sizeOf(row);
    }
  }
}

const sizeOf = ({ passage: { id, title, text }, codes }: StoredPassage): number =>
  codes.length + 2 * (id.length + title.length + text.length) + OVERHEAD;

const deleted = (where: string, id: string): InputError =>
  new InputError({
    where,
    expected: `the passage ${JSON.stringify(id)} as it was found`,
    got: "none: it was changed or deleted meanwhile",
    remedy: "ask again",
  });
