/** How long an object that holds native memory or open files can be used. */

import { InputError } from "./errors.ts";

/**
 * The lifetime of a model or an index. Closing waits for the calls that are running; later calls
 * fail. It can be closed twice.
 */
export class Lifetime {
  readonly #what: string;
  readonly #remedy: string;
  readonly #running = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  /** @param what the object as an error names it, such as "the model" */
  constructor(what: string, remedy: string) {
    this.#what = what;
    this.#remedy = remedy;
  }

  /** @throws {InputError} if it is closed */
  check(): void {
    if (!this.#closed) return;
    throw new InputError({
      code: "ERR_REATT_CLOSED",
      where: this.#what,
      expected: "to be open",
      got: "one that is closed (disposed)",
      remedy: this.#remedy,
    });
  }

  /**
   * Does `work`, which ends before the object is released.
   *
   * @throws {InputError} if it is closed
   */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.check();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Calls `release` once. */
  close(release: () => Promise<unknown>): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#running).then(async () => {
      await release();
    });
    return this.#closed;
  }
}
