/**
 * Retrieves candidates with the model of a snapshot, in a process: `candidate-search-process.ts`.
 */

import { fork } from "node:child_process";
import { constants, setPriority } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "../../io/errors.ts";
import type { CandidateRetriever } from "../examples/candidates.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { IndexingOptions } from "./current-model.ts";

/** The argument of the process, as JSON. The process opens the corpus itself. */
export interface SearchProcessOptions extends Omit<IndexingOptions, "signal"> {
  readonly corpus: Readonly<Pick<Corpus, "file" | "digest">>;
}

/** A message to the process: the arguments of a `CandidateRetriever`. */
export type BackgroundSearchRequest = Readonly<Parameters<CandidateRetriever>>;

/** The reply to each request. */
export type SearchReply =
  | { readonly candidates: Awaited<ReturnType<CandidateRetriever>> }
  | { readonly error: string };

/** The program has this file's extension: `.ts` in a checkout, `.js` in the package. */
const PROGRAM: URL = new URL(
  `candidate-search-process${extname(import.meta.url)}`,
  import.meta.url,
);

/**
 * Starts the process, at the lowest priority. It indexes the corpus before its first reply. It ends
 * when `signal` aborts, and when this process ends in any way.
 *
 * @returns a retriever for one request at a time. It throws an {@link InputError} if the process
 *   fails or is killed.
 */
export function startBackgroundSearch(
  options: SearchProcessOptions,
  signal: AbortSignal,
): CandidateRetriever {
  const child = fork(fileURLToPath(PROGRAM), [JSON.stringify(options)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    signal,
    killSignal: "SIGKILL",
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  child.on("error", () => {}); // "exit" follows
  return (...request) =>
    new Promise((resolve, reject) => {
      const onExit = (): void => reject(failed("the process ended"));
      child.once("exit", onExit);
      child.once("message", (reply: SearchReply) => {
        child.off("exit", onExit);
        if ("candidates" in reply) resolve(reply.candidates);
        else reject(failed(reply.error));
      });
      child.send(request satisfies BackgroundSearchRequest, (error) => {
        if (error) reject(failed(error.message));
      });
    });
}

const failed = (got: string): InputError =>
  new InputError({
    where: "candidates in the background",
    expected: "an index of the corpus, and a search of it",
    got,
    remedy: "resume the run, or find candidates between iterations",
  });
