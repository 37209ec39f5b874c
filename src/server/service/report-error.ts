/** Turns errors into those that clients see, and logs what only the owner of the server may see. */

import { InputError } from "../../io/errors.ts";
import { ApiError, type ApiErrorCode, apiErrorFrom } from "./api-error.ts";
import type { Log } from "./log.ts";

/** @param id of the request */
export type ReportError = (error: unknown, id?: string) => ApiError;

/** What clients cannot mend. */
const LOGGED: ReadonlySet<ApiErrorCode> = new Set([
  "internal",
  "insufficient_storage",
  "unavailable",
]);

export const errorReporter =
  (log: Log): ReportError =>
  (error, id) => {
    const shown = apiErrorFrom(error);
    if (!LOGGED.has(shown.code)) return shown;
    // A fault of a file or the machine has one line; anything else is a defect of reatt.
    const found = error instanceof ApiError ? (error.cause ?? error) : error;
    const isFault = found instanceof InputError;
    const stack = found instanceof Error ? found.stack : String(found);
    log("error", isFault ? "fault" : "defect", {
      id,
      ...(isFault ? { message: found.message } : { stack }),
    });
    return shown;
  };
