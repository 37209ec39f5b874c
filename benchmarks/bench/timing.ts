/** Times of repeated work, and their median, which suits a shared machine. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Seconds of processor time since `start`, of all threads of this process. */
export function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Collects milliseconds by name. */
export class Stopwatch {
  readonly times: Map<string, number[]> = new Map();

  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    const times = this.times.get(name) ?? [];
    times.push(performance.now() - start);
    this.times.set(name, times);
    return result;
  }

  total(name: string): number {
    return (this.times.get(name) ?? []).reduce((sum, time) => sum + time, 0);
  }
}
