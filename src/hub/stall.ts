/** Ends work that does not advance. */

export interface Stall extends Disposable {
  /** Aborts when nothing has advanced for the time limit, or when the caller stops the work. */
  readonly signal: AbortSignal;
  /** The time begins again. */
  advance(): void;
  /** No time passes until `resume`. */
  pause(): void;
  resume(): void;
}

/** @param milliseconds without progress, after which the signal aborts */
export function stallAfter(milliseconds: number, stopped: AbortSignal): Stall {
  const stalled = new AbortController();
  const start = () =>
    setTimeout(
      () => stalled.abort(new DOMException("no data in time", "TimeoutError")),
      milliseconds,
    );
  let timer: NodeJS.Timeout | undefined = start();
  const pause = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    signal: AbortSignal.any([stopped, stalled.signal]),
    advance: () => timer?.refresh(),
    pause,
    resume: () => {
      timer ??= start();
    },
    [Symbol.dispose]: pause,
  };
}
