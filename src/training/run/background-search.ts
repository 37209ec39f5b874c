/** Close passages as the model of a snapshot finds them, in a process of its own: `candidate-search-process.ts`. */

import { fork } from "node:child_process";
import { constants, setPriority } from "node:os";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "../../io/errors.ts";
import type { CandidateRetriever } from "../data/candidates.ts";
import type { IndexingSettings } from "./current-model.ts";

/** What the process is told: the arguments of a `CandidateRetriever`. */
export type SearchRequest = Readonly<Parameters<CandidateRetriever>>;

/** What it answers to each request. */
export type SearchReply =
  | { readonly found: Awaited<ReturnType<CandidateRetriever>> }
  | { readonly error: string };

/** This file's extension is the program's: `.ts` in a checkout, `.js` in the package. */
const PROGRAM: URL = new URL(
  `candidate-search-process${extname(import.meta.url)}`,
  import.meta.url,
);

/**
 * Starts the process, at the lowest priority. Until the corpus is indexed its first answer is waited for. It ends with
 * `signal`, and by itself when this process is gone, however that ended.
 *
 * @returns a search for one request at a time. @throws {InputError} by the search, where the process fails or is killed.
 */
export function startBackgroundSearch(
  settings: IndexingSettings,
  signal: AbortSignal,
): CandidateRetriever {
  const child = fork(fileURLToPath(PROGRAM), [JSON.stringify(settings)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    signal,
    killSignal: "SIGKILL",
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  child.on("error", () => {}); // "exit" says that it was ended
  return (...request) =>
    new Promise((resolve, reject) => {
      const end = (): void => reject(failed("the process ended"));
      child.once("exit", end);
      child.once("message", (reply: SearchReply) => {
        child.off("exit", end);
        if ("found" in reply) resolve(reply.found);
        else reject(failed(reply.error));
      });
      child.send(request satisfies SearchRequest, (error) => {
        if (error) reject(failed(error.message));
      });
    });
}

const failed = (got: string): InputError =>
  new InputError({
    where: "close passages in the background",
    expected: "an index of the corpus, and a search of it",
    got,
    remedy: "resume the run, or have them found between iterations",
  });
