/** Several open indexes as one: a search finds the best passages of all. */

import { InputError } from "../../io/errors.ts";
import { checkOpenIndex } from "../../options/arguments.ts";
import type { IndexGeneration } from "../search/generation.ts";
import { joinGenerations } from "../search/joined-generation.ts";
import type { TokenIndex } from "../search/token-index.ts";
import { openIndexOver, type Pinned } from "./open-index-over.ts";

/**
 * One index over several of the same model. A question finds the passages that one index of all
 * documents would find, in its order; `collection` of a hit says which index it is in, and the
 * condition `collection = "NAME"` chooses some. Only the codes of compressed indexes differ: each
 * keeps its own codebook. Passages are added to each index, and deleted from it. Closing it closes
 * them. `retrieve`, `answer`, `context` and `explain` take a list of indexes, too.
 *
 * @throws {InputError} if the indexes are of different models, two have one name (the option
 * `collection` of `openIndex` gives another), or one is in a store
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { joinIndexes, ReAtt } from "reatt";
 *
 * const folder = mkdtempSync(join(tmpdir(), "reatt-"));
 * await using model = await ReAtt.load();
 * const lion = { id: "1", title: "Lion", text: "The lion lives in Africa and in India." };
 * const rhine = { id: "1", title: "Rhine", text: "The Rhine flows to the North Sea." };
 * await using all = joinIndexes([
 *   await model.index([lion], { directory: join(folder, "animals") }),
 *   await model.index([rhine], { directory: join(folder, "rivers") }),
 * ]);
 * const [best] = await model.retrieve("Where does the Rhine flow?", all);
 * console.log(all.passageCount, best!.collection); // 2 rivers
 * ```
 */
export function joinIndexes(indexes: readonly TokenIndex[]): TokenIndex {
  checkIndexes(indexes);
  if (indexes.length === 1) return indexes[0]!;
  let last: IndexGeneration | undefined;
  const joinedOf = (members: readonly IndexGeneration[]): IndexGeneration => {
    const isLast = last?.members.every((member, i) => member === members[i]);
    if (!isLast) last = joinGenerations(members);
    return last!;
  };
  return openIndexOver({
    pin(): Pinned {
      const pins = indexes.map((index) => index.pin());
      return {
        generation: joinedOf(pins.map(({ generation }) => generation)),
        use: (work) => useAll(pins, work),
      };
    },
    async refresh() {
      const changed = await Promise.all(indexes.map((index) => index.refresh()));
      return changed.includes(true);
    },
    async catchUp() {
      await Promise.all(indexes.map((index) => index.catchUp()));
    },
    async close() {
      await Promise.all(indexes.map((index) => index.close()));
    },
    indexes,
  });
}

function useAll<Result>(
  [first, ...others]: readonly Pinned[],
  work: () => Promise<Result>,
): Promise<Result> {
  return first ? first.use(() => useAll(others, work)) : work();
}

/** A list of indexes that was searched before, to find the joined index again. */
interface Known {
  joined?: TokenIndex;
  readonly longer: WeakMap<TokenIndex, Known>;
}

const known: Known = { longer: new WeakMap() };

/** An index, or the one over a list of them, which is made once. */
export function oneIndex(given: TokenIndex | readonly TokenIndex[]): TokenIndex {
  if (!isList(given)) return given;
  checkIndexes(given);
  let list = known;
  for (const index of given) {
    const longer = list.longer.get(index) ?? { longer: new WeakMap() };
    list.longer.set(index, longer);
    list = longer;
  }
  list.joined ??= joinIndexes(given);
  return list.joined;
}

const isList = (given: TokenIndex | readonly TokenIndex[]): given is readonly TokenIndex[] =>
  Array.isArray(given);

function checkIndexes(indexes: readonly TokenIndex[]): void {
  if (!Array.isArray(indexes) || indexes.length === 0)
    throw unusable("a list of open indexes", "none", "give one or more");
  for (const index of indexes) checkOpenIndex(index, ["searchBatch", "snapshot"]);
  if (indexes.length === 1) return;
  const [first, ...others] = indexes as [TokenIndex, ...TokenIndex[]];
  const remote = indexes.find(({ isRemote }) => isRemote);
  if (remote)
    throw unusable(
      "indexes in folders, to search several as one",
      `the store ${remote.directory}`,
      "put the documents into one collection of the store, or search it alone",
    );
  const other = others.find(({ header }) => header.fingerprint !== first.header.fingerprint);
  if (other) throw otherModels(first, other);
  const names = indexes.map(({ collection }) => collection);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined)
    throw unusable(
      "indexes with names that differ",
      `two that are called ${JSON.stringify(twice)}`,
      "name one: model.openIndex(FOLDER, { collection: NAME })",
    );
}

const unusable = (expected: string, got: string, remedy: string): InputError =>
  new InputError({ code: "ERR_REATT_BAD_OPTION", where: "indexes", expected, got, remedy });

function otherModels(first: TokenIndex, other: TokenIndex): InputError {
  const named = ({ directory, header: { fingerprint, model } }: TokenIndex): string =>
    `${directory} of ${model ? `${model.title} (${fingerprint})` : fingerprint}`;
  return new InputError({
    code: "ERR_REATT_OTHER_MODEL",
    where: "indexes",
    expected: "indexes of one model, to search several as one",
    got: `${named(first)}, and ${named(other)}`,
    remedy: "build one of them again with the model of the other, or search each alone",
  });
}
