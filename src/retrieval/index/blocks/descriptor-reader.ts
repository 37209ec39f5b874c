/** Reads by a descriptor: at once from the system's cache, in the background from a slow disk. */

import { read, readSync } from "node:fs";
import { promisify } from "node:util";
import type { Readable } from "./storage.ts";

/** Milliseconds. Reads are of 1 MiB at most, which the cache gives faster. */
const SLOW = 2;

/** Reads in the background after a slow one, before the next is tried at once. */
const BACKGROUND_READS = 100;

const readInBackground = promisify(read);

/**
 * A read through the thread pool takes several times the processor time of one from the system's
 * cache. A slow read at once blocks the thread, so only one in a hundred may be slow.
 */
export function readerOf(descriptor: number): Readable {
  let background = 0;
  return {
    read(...place) {
      if (background > 0) {
        background--;
        return readInBackground(descriptor, ...place);
      }
      const start = performance.now();
      const bytesRead = readSync(descriptor, ...place);
      if (performance.now() - start > SLOW) background = BACKGROUND_READS;
      return { bytesRead };
    },
  };
}
