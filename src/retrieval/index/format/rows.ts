/** Rows of different lengths: a file with one after the other, and a file with their starts. */

import { type Awaitable, chain } from "./awaitable.ts";
import type { CheckedFile } from "./blocks.ts";
import { integerAt, wordsOf } from "./integers.ts";
import type { SharedReader } from "./shared-blocks.ts";

export interface Rows {
  /** The range of each row in its file: [rows, 2]. */
  ranges(rows: ArrayLike<number>): Promise<Float64Array>;
  /** Copies ranges to `target`, one after the other. */
  copy(ranges: Float64Array, target: Uint8Array): Awaitable<void>;
}

/** Starts that are read together: a block of them. */
const WINDOW = 2_048;

/** @param starts uint64: the start of each of `count` rows, and the end of the last */
export function openRows(starts: CheckedFile, data: SharedReader): Rows {
  const count = starts.bytes / 8 - 1;
  const readWindow = (window: number): Awaitable<Uint32Array> => {
    const first = window * WINDOW;
    return chain(starts.read(8 * first, 8 * (Math.min(WINDOW, count - first) + 1)), wordsOf);
  };
  return {
    async ranges(rows) {
      const windows = new Map<number, Uint32Array>();
      const ranges = new Float64Array(2 * rows.length);
      for (let i = 0; i < rows.length; i++) {
        const number = Math.floor(rows[i]! / WINDOW);
        const window = windows.get(number) ?? (await readWindow(number));
        windows.set(number, window);
        const at = rows[i]! - number * WINDOW;
        ranges[2 * i] = integerAt(window, at);
        ranges[2 * i + 1] = integerAt(window, at + 1);
      }
      return ranges;
    },
    copy: (ranges, target) => data.copy(ranges, target),
  };
}
