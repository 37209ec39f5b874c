/** An open index that can move to a newer generation while it is searched. */

import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { Lifetime } from "../../io/lifetime.ts";
import { IndexGeneration } from "../search/generation.ts";
import type { TokenIndex } from "../search/token-index.ts";

/** A generation with its memory and files. */
export interface OpenGeneration<State> {
  readonly generation: IndexGeneration;
  /** What distinguishes it from newer ones. */
  readonly state: State;
  release(): Promise<void>;
}

/** A generation and the calls that use it, which end before it is released. */
interface Held<State> extends OpenGeneration<State> {
  readonly calls: Lifetime;
}

/**
 * @param first the generation to begin with
 * @param openNewer opens another generation than the given one; undefined if there is none
 */
export function refreshingIndex<State>(
  first: OpenGeneration<State>,
  openNewer: (than: State) => Promise<OpenGeneration<State> | undefined>,
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

  const useOf = <Result>(held: Held<State>, work: () => Promise<Result>): Promise<Result> =>
    lifetime.use(() => held.calls.use(work));
  const use = <Result>(work: (generation: IndexGeneration) => Promise<Result>): Promise<Result> =>
    useOf(current, () => work(current.generation));
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
  const close = (): Promise<void> =>
    lifetime.close(async () => {
      await Promise.all([...retired, retire(current)]);
    });
  const own = {
    /** Each step is a call of its own: the caller may stop between two. */
    async *entries(): ReturnType<IndexGeneration["entries"]> {
      const held = current;
      const entries = held.generation.entries();
      for (;;) {
        const { done, value } = await useOf(held, () => entries.next());
        if (done) return;
        yield value;
      }
    },
    refresh: () =>
      lifetime.use(() => {
        refreshing ??= refreshOnce().finally(() => {
          refreshing = undefined;
        });
        return refreshing;
      }),
    snapshot: async <Result>(work: (generation: IndexGeneration) => Promise<Result>) => {
      checkWork(work);
      return use(work);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  const forwarded = forwarding(() => current.generation, use) as TokenIndex;
  return Object.assign(forwarded, own);
}

type Call = (...values: readonly unknown[]) => Promise<unknown>;

/** An object with the values and methods of the current generation. A method holds it open. */
function forwarding(
  current: () => IndexGeneration,
  use: (work: (generation: IndexGeneration) => Promise<unknown>) => Promise<unknown>,
): object {
  const forwarded = {};
  for (const name of Object.keys(current()))
    Object.defineProperty(forwarded, name, {
      get: () => current()[name as keyof IndexGeneration],
      enumerable: true,
    });
  for (const name of Object.getOwnPropertyNames(IndexGeneration.prototype)) {
    if (name === "constructor") continue;
    const call = (generation: IndexGeneration, values: readonly unknown[]) =>
      (generation as unknown as Record<string, Call>)[name]!(...values);
    Object.assign(forwarded, {
      [name]: (...values: readonly unknown[]) => use((generation) => call(generation, values)),
    });
  }
  return forwarded;
}

function checkWork(work: unknown): void {
  if (typeof work === "function") return;
  throw new InputError({
    where: "work",
    expected: "a function of one generation of the index",
    got: work === undefined ? "nothing" : excerpt(work),
    remedy: "write index.snapshot(async (generation) => ...)",
  });
}
