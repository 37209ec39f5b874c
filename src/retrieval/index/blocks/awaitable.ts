/**
 * Values that are either present or a promise. A search reads thousands of values that are in
 * memory, and an await for each would be slow.
 */

export type Awaitable<T> = T | Promise<T>;

/** Applies `next` to a value: at once if the value is present. */
export const chain = <T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(next) : next(value);

/** All of the values: at once if all are present. */
export const together = <T>(values: readonly Awaitable<T>[]): Awaitable<T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as T[]);
