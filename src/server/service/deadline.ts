/** How long a call may take. */

import { ApiError } from "./api-error.ts";

export interface Deadline extends Disposable {
  /** Aborts after the time, or when another signal does. */
  readonly signal: AbortSignal;
}

/**
 * @param timeout milliseconds, after which the reason is an error `timeout`
 * @param gone aborts when nobody waits for the result any more
 */
export function deadline(timeout: number, gone: AbortSignal): Deadline {
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new ApiError("timeout", `the request took more than ${timeout / 1000} s`));
  }, timeout);
  return {
    signal: AbortSignal.any([gone, late.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
