/** Progress of long work, reported as events of an async generator. */

export type ProgressEvent =
  /** A stage begins. `total` is its number of items, if known. */
  | { readonly type: "stage"; readonly name: string; readonly total?: number | undefined }
  /** Number of completed items of the current stage. */
  | { readonly type: "progress"; readonly done: number };

/** Runs `work`. Yields the events that it reports and returns its result. */
export async function* reporting<Event, Result>(
  work: (report: (event: Event) => void) => Promise<Result>,
): AsyncGenerator<Event, Result> {
  const waiting: Event[] = [];
  let wake = (): void => {};
  let done = false;
  const result = work((event) => {
    waiting.push(event);
    wake();
  }).finally(() => {
    done = true;
    wake();
  });
  result.catch(() => {}); // awaited below, after the events
  while (!done || waiting.length > 0) {
    if (waiting.length > 0) yield waiting.shift()!;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  return result;
}

/** Runs a generator to its end, ignores its events and returns its result. */
export async function finished<Result>(run: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
  }
}
