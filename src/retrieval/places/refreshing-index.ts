/** An open index that can move to a newer generation while it is searched. */

import { Lifetime } from "../../io/lifetime.ts";
import type { IndexGeneration } from "../search/generation.ts";
import type { TokenIndex } from "../search/token-index.ts";
import { openIndexOver, type Pinned } from "./open-index-over.ts";

/** A generation with its memory and files. */
export interface OpenGeneration<State> {
  readonly generation: IndexGeneration;
  /** What distinguishes it from newer ones. */
  readonly state: State;
  /** Does a call whose reads are of one moment. Default: all of the generation are. */
  readonly snapshot?: (<Result>(work: () => Promise<Result>) => Promise<Result>) | undefined;
  release(): Promise<void>;
}

/** A generation and the calls that use it, which end before it is released. */
interface Held<State> extends OpenGeneration<State> {
  readonly calls: Lifetime;
}

/**
 * @param first the generation to begin with
 * @param openNewer opens another generation than the given one; undefined if there is none
 * @param hasChanged whether there may be a newer one, in less time than a search. Default: unknown
 */
export function refreshingIndex<State>(
  first: OpenGeneration<State>,
  openNewer: (than: State) => Promise<OpenGeneration<State> | undefined>,
  hasChanged: () => Promise<boolean> = async () => false,
): TokenIndex {
  const { directory } = first.generation;
  const hold = (opened: OpenGeneration<State>): Held<State> => ({
    ...opened,
    calls: new Lifetime(directory, "start again: the index was refreshed meanwhile"),
  });
  const retire = ({ calls, release }: Held<State>): Promise<void> => calls.close(release);
  const lifetime = new Lifetime(directory, "open the index again");
  const retired = new Set<Promise<void>>();
  let current = hold(first);
  let refreshing: Promise<boolean> | undefined;

  const pin = (): Pinned => {
    const { generation, calls, snapshot = (work) => work() } = current;
    return { generation, use: (work) => lifetime.use(() => calls.use(() => snapshot(work))) };
  };
  const refreshOnce = async (): Promise<boolean> => {
    const newer = await openNewer(current.state);
    if (!newer) return false;
    const releasing = retire(current);
    retired.add(releasing);
    releasing.then(
      () => retired.delete(releasing),
      () => {}, // close() reports it
    );
    current = hold(newer);
    return true;
  };
  const refresh = (): Promise<boolean> =>
    lifetime.use(() => {
      refreshing ??= refreshOnce().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    });
  return openIndexOver({
    pin,
    refresh,
    async catchUp() {
      lifetime.check();
      if (await hasChanged()) await refresh().catch((error) => warnOfOld(directory, error));
    },
    close: () =>
      lifetime.close(async () => {
        await Promise.all([...retired, retire(current)]);
      }),
  });
}

/** A newer generation that cannot be opened, such as one of another model, is no reason to fail. */
const warnOfOld = (directory: string, error: unknown): void =>
  process.emitWarning(
    `${directory}: the index changed, and searches go on without the change: ` +
      (error as Error).message,
    "ReAttWarning",
  );
