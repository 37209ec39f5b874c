/** Values that may be there at once: what is in memory is not waited for, since a search looks at thousands of them. */

export type Awaitable<T> = T | Promise<T>;

/** `next` of a value, now if it is there. */
export const chain = <T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(next) : next(value);

/** All of some values, now if all are there. */
export const together = <T>(values: readonly Awaitable<T>[]): Awaitable<T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as T[]);
