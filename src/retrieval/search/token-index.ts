/** The public interface of an open token index. */

import type { IndexGeneration } from "./generation.ts";

/** A generation of an open index; `use` keeps it open while work runs. */
interface Pinned {
  readonly generation: IndexGeneration;
  use<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * An index, open for search. `ReAtt.retrieve`, `answer`, `context`, `explain` and `phrases` look
 * first whether the index in its folder changed, and move to the newest generation. The methods of
 * this object stay at the generation that is open, so that ordinals stay valid between two calls;
 * `snapshot` keeps one generation also while others ask.
 *
 * @example
 * ```ts
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const directory = await mkdtemp(join(tmpdir(), "reatt-"));
 * const passages = [{ id: "1", title: "Normandy", text: "Normandy is a region in France." }];
 * await using index = await model.index(passages, { directory });
 * const [question] = await model.encodeQuestions(["Where is Normandy?"]);
 * const [hit] = await index.search(question!, { topK: 1 });
 * console.log(index.passageCount, hit?.id, hit?.score);
 * ```
 */
export interface TokenIndex extends IndexGeneration, AsyncDisposable {
  /**
   * Opens the newest generation of the index. Calls that are running finish on theirs. Ordinals,
   * and what was made from them, belong to one generation: take them again afterwards.
   *
   * @returns whether there was a newer generation
   * @throws {InputError} if it cannot be opened, or another model made it. The index then stays at
   * its generation.
   */
  refresh(): Promise<boolean>;
  /**
   * Does work that needs several calls on one generation, which stays open meanwhile even if the
   * index is refreshed.
   */
  snapshot<Result>(work: (generation: IndexGeneration) => Promise<Result>): Promise<Result>;
  /** The indexes that `joinIndexes` joined; itself otherwise. */
  readonly indexes: readonly TokenIndex[];
  /**
   * The generation that is open now.
   *
   * @internal
   */
  pin(): Pinned;
  /**
   * As `refresh`, if a glance at the index says that it changed. What cannot be opened is a
   * warning, and the generation stays.
   *
   * @internal
   */
  catchUp(): Promise<void>;
  /**
   * Releases memory and files, as leaving the scope of `await using` does. It waits for the calls
   * that are running; later ones fail. It can be called twice.
   */
  close(): Promise<void>;
}
