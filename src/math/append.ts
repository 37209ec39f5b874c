/** Appends a list of any length: `push(...more)` overflows the stack at about 100,000 values. */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}
