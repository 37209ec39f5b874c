/** Time in proportion to size, without a limit in seconds: the machine may be slow or busy. */

import * as assert from "uvu/assert";

/** Four times the size takes 4 times the time if it is linear, and 16 times if it is quadratic. */
const MAX_RATIO = 8;
/** In microseconds. A shorter time is noise. */
const LEAST = 2_000;

/**
 * @param work is done at `size` and at four times `size`, three times each: the least time of the
 *   processor counts
 * @param least microseconds that the work takes whatever its size is, such as opening a file
 */
export async function assertLinear(
  work: (size: number) => unknown,
  size: number,
  name = "",
  least: number = LEAST,
): Promise<void> {
  const microseconds = async (at: number): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      const start = process.cpuUsage();
      await work(at);
      const { user, system } = process.cpuUsage(start);
      times.push(user + system);
    }
    return Math.min(...times);
  };
  const [one, four] = [await microseconds(size), await microseconds(4 * size)];
  const times = `${one} µs at ${size}, ${four} µs at ${4 * size} ${JSON.stringify(name)}`;
  assert.ok(four <= MAX_RATIO * Math.max(least, one), times);
}
