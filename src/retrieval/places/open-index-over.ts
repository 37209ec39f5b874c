/** The public object of an open index, whose generation can change while it is used. */

import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { IndexGeneration } from "../search/generation.ts";
import type { TokenIndex } from "../search/token-index.ts";

export type Pinned = ReturnType<TokenIndex["pin"]>;

/** What can be done with an index whose generation changes. */
export interface ChangingIndex
  extends Pick<TokenIndex, "pin" | "refresh" | "catchUp" | "close">,
    Partial<Pick<TokenIndex, "indexes">> {}

/** An object with the values and methods of the current generation. A method holds it open. */
export function openIndexOver(changing: ChangingIndex): TokenIndex {
  const { pin, close } = changing;
  const index = Object.assign(forwarding(pin) as TokenIndex, changing, {
    /** Each step is a call of its own: the caller may stop between two. */
    async *entries(): ReturnType<IndexGeneration["entries"]> {
      const { generation, use } = pin();
      const entries = generation.entries();
      for (;;) {
        const { done, value } = await use(() => entries.next());
        if (done) return;
        yield value;
      }
    },
    async snapshot<Result>(work: (generation: IndexGeneration) => Promise<Result>) {
      checkWork(work);
      const { generation, use } = pin();
      return use(() => work(generation));
    },
    [Symbol.asyncDispose]: close,
  });
  return Object.assign(index, { indexes: changing.indexes ?? [index] });
}

type Call = (...values: readonly unknown[]) => Promise<unknown>;

function forwarding(pin: () => Pinned): object {
  const { generation } = pin();
  const forwarded = {};
  const get = (name: string) => () => pin().generation[name as keyof IndexGeneration];
  for (const name of Object.keys(generation))
    Object.defineProperty(forwarded, name, { get: get(name), enumerable: true });
  const { constructor: _, ...members } = Object.getOwnPropertyDescriptors(
    IndexGeneration.prototype,
  );
  for (const [name, { value }] of Object.entries(members)) {
    if (value === undefined) Object.defineProperty(forwarded, name, { get: get(name) });
    else Object.assign(forwarded, { [name]: callOf(pin, name) });
  }
  return forwarded;
}

/** A method of the current generation. */
const callOf =
  (pin: () => Pinned, name: string): Call =>
  async (...values) => {
    const { generation, use } = pin();
    return use(() => (generation as unknown as Record<string, Call>)[name]!(...values));
  };

function checkWork(work: unknown): void {
  if (typeof work === "function") return;
  throw new InputError({
    where: "work",
    expected: "a function of one generation of the index",
    got: work === undefined ? "nothing" : excerpt(work),
    remedy: "write index.snapshot(async (generation) => ...)",
  });
}
