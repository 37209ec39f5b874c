/** Rows of different lengths: a file with one after the other, and a file with their starts. */

import { type Awaitable, chain } from "./awaitable.ts";
import { BLOCK_BYTES } from "./blocks.ts";
import { integerAt, wordsOf } from "./integers.ts";
import type { SharedReader } from "./shared-blocks.ts";

export interface Rows {
  /** The file with the rows, for errors. */
  readonly path: string;
  /** The range of each row in its file: [rows, 2]. */
  ranges(rows: ArrayLike<number>): Promise<Float64Array>;
  /** Copies ranges of the file to ranges of `target`, which `places` lists alike. */
  copy(ranges: Float64Array, target: Uint8Array, places: Uint32Array): Awaitable<void>;
}

/** Starts that are read together: a block of them. */
const WINDOW = BLOCK_BYTES / 8;

/** @param starts uint64: the start of each row, and the end of the last */
export function openRows(starts: SharedReader, data: SharedReader): Rows {
  const count = starts.bytes / 8;
  const readWindow = (window: number): Awaitable<Uint32Array> => {
    const first = window * WINDOW;
    return chain(starts.view(8 * first, 8 * Math.min(WINDOW, count - first)), wordsOf);
  };
  return {
    path: data.path,
    async ranges(rows) {
      const windows = new Map<number, Uint32Array>();
      const ranges = new Float64Array(2 * rows.length);
      for (let at = 0; at < ranges.length; at++) {
        const row = rows[at >>> 1]! + (at & 1); // the start of the row, then of the next
        const number = Math.floor(row / WINDOW);
        const window = windows.get(number) ?? (await readWindow(number));
        windows.set(number, window);
        ranges[at] = integerAt(window, row - number * WINDOW);
      }
      return ranges;
    },
    copy: (ranges, target, places) => data.copy(ranges, target, places),
  };
}
