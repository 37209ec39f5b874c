/** Time in proportion to size, without a limit in seconds: the machine may be slow or busy. */

import * as assert from "uvu/assert";

/** Four times the size takes 4 times the time if it is linear, and 16 times if it is quadratic. */
const MAX_RATIO = 8;
/** In microseconds. A shorter time is noise. */
const LEAST = 2_000;

/** The least of a few times counts, because other work of the process can only add to one. */
const TIMES = 3;

/**
 * @param work is done at `size` and at four times `size`, until the times of the processor agree or
 *   it was done three times
 * @param least microseconds that the work takes whatever its size is, such as opening a file
 */
export async function assertLinear(
  work: (size: number) => unknown,
  size: number,
  name = "",
  least: number = LEAST,
): Promise<void> {
  let [one, four] = [Infinity, Infinity];
  for (let i = 0; i < TIMES; i++) {
    one = Math.min(one, await microsecondsOf(() => work(size)));
    four = Math.min(four, await microsecondsOf(() => work(4 * size)));
    if (four <= MAX_RATIO * Math.max(least, one)) return;
  }
  assert.unreachable(`${one} µs at ${size}, ${four} µs at ${4 * size} ${JSON.stringify(name)}`);
}

async function microsecondsOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}
