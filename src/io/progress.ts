/** Events of long work, as an async generator yields them. */

export type ProgressEvent =
  /** A stage begins. `total` is the number of items it processes, where that is known. */
  | { readonly type: "stage"; readonly name: string; readonly total?: number | undefined }
  /** Items of the current stage that are done. */
  | { readonly type: "progress"; readonly done: number };

/** Yields what `work` reports while it runs, and returns its result. */
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
  result.catch(() => {}); // it is awaited below, after the events
  while (!done || waiting.length > 0) {
    if (waiting.length > 0) yield waiting.shift()!;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  return result;
}

/** The result of a run of which nobody follows the events. */
export async function finished<Result>(run: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
  }
}
