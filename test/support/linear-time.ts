/** Time in proportion to size, without a limit in seconds: the machine may be slow or busy. */

import * as assert from "uvu/assert";

/** Four times the size takes 4 times the time if it is linear, and 16 times if it is quadratic. */
const MAX_RATIO = 9;
/** In microseconds. A shorter time is noise. */
const LEAST = 2_000;

/**
 * @param work is done at `size` and at four times `size`, three times each: the least time counts
 */
export function assertLinear(work: (size: number) => unknown, size: number, name = ""): void {
  const microseconds = (at: number): number => {
    const times = Array.from({ length: 3 }, () => {
      const start = process.cpuUsage();
      work(at);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    });
    return Math.min(...times);
  };
  const [one, four] = [microseconds(size), microseconds(4 * size)];
  const times = `${one} µs at ${size}, ${four} µs at ${4 * size} ${JSON.stringify(name)}`;
  assert.ok(four <= MAX_RATIO * Math.max(LEAST, one), times);
}
