/**
 * What reading one file may cost. Readers spend while they read, so a file that expands without end
 * stops in the middle and is one line of the report.
 */

import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import { formatBytes } from "../../io/format-bytes.ts";

/** A book has 1 to 5 MB. JSON Lines are read one by one and have no limit. */
export const MAX_BYTES = 64 * 2 ** 20;

const LIMITS = {
  /** Bytes after decompression, of all parts of a container together. */
  bytes: MAX_BYTES,
  /** Elements of markup, with their texts. A page has 10,000, the HTML standard 500,000. */
  elements: 2_000_000,
  /** Visits of elements: a formula in a cell in a list is visited three times. */
  steps: 20_000_000,
  /** Elements inside each other. Pages have less than 100, a Word table in a table 20. */
  levels: 1_000,
  /** Rows of a table, objects of a list. */
  records: 5_000_000,
  /** Cells of all rows together. */
  cells: 10_000_000,
  /** Characters of the text that is made of the file, which may repeat parts of it. */
  characters: 2 * MAX_BYTES,
  /** Characters of its passages, each with title and metadata. */
  written: 16 * MAX_BYTES,
  /** Parts of a container: a Word document has 20, a book of 500 chapters 1,000. */
  parts: 10_000,
};

/** What a reader counts. */
export type Cost = keyof typeof LIMITS;

/** A page of PDF takes 20 ms. */
const MAX_SECONDS = 600;
/** Signals and timers wait no longer. */
const SLICE_MS = 20;

/**
 * The budget of one file.
 *
 * @example
 * ```ts
 * import type { Document, SourceFile } from "reatt/documents";
 *
 * async function* readRows(file: SourceFile): AsyncGenerator<Document> {
 *   let number = 0;
 *   for (const text of (await file.text()).split("\n")) {
 *     file.budget.spend("records"); // throws after 5 million
 *     await file.budget.pause(); // a signal can stop the loop here
 *     const record = `row ${++number}`;
 *     if (text !== "") yield { record, title: "", blocks: [{ text, headings: [] }] };
 *   }
 * }
 * ```
 */
export class Budget {
  readonly #where: string;
  readonly #signal: AbortSignal | undefined;
  #spent: Partial<Record<Cost, number>> = {};
  #milliseconds = 0;
  /** Milliseconds of reading since the last pause, up to `#start`. */
  #slice = 0;
  #start = performance.now();

  /** @internal */
  constructor(where: string, signal?: AbortSignal) {
    this.#where = where;
    this.#signal = signal;
  }

  /** Counts what a reader uses. @throws {InputError} if that is more than a file may cost */
  spend(cost: Cost, count = 1): void {
    const spent = (this.#spent[cost] ?? 0) + count;
    this.#spent[cost] = spent;
    if (spent > LIMITS[cost]) throw beyond(this.#where, allowed(cost));
  }

  /** What may still be spent. */
  left(cost: Cost): number {
    return LIMITS[cost] - (this.#spent[cost] ?? 0);
  }

  /** Checks how deep elements are inside each other. @throws {InputError} over 1,000 levels */
  checkLevels(levels: number): void {
    if (levels > LIMITS.levels) throw beyond(this.#where, allowed("levels"));
  }

  /** Begins again: the lines of JSON Lines have a budget each. @internal */
  renew(): void {
    this.#spent = {};
    this.#milliseconds = 0;
  }

  /** Stops counting time, while others use the process. @internal */
  suspend(): void {
    this.#slice += performance.now() - this.#start;
  }

  /** Counts time again. @internal */
  resume(): void {
    this.#start = performance.now();
  }

  /**
   * Lets signals and other work run after 20 ms of reading. Readers call it in their loops.
   *
   * @throws {InputError} if reading took more than 10 minutes; the reason of the signal if it is
   * aborted
   */
  async pause(): Promise<void> {
    const slice = this.#slice + performance.now() - this.#start;
    if (slice < SLICE_MS) return;
    this.#slice = 0;
    this.#milliseconds += slice;
    if (this.#milliseconds > 1_000 * MAX_SECONDS)
      throw beyond(this.#where, `${MAX_SECONDS} s of reading`);
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.resume();
  }
}

const allowed = (cost: Cost): string =>
  cost === "bytes"
    ? formatBytes(LIMITS.bytes)
    : `${LIMITS[cost]} ${cost === "written" ? "characters in its passages" : cost}`;

const beyond = (where: string, limit: string): InputError =>
  new InputError({
    code: "ERR_REATT_TOO_LARGE",
    where,
    expected: `a document of at most ${limit}`,
    got: "more",
    remedy: "check the file, split it, or ignore it",
  });
