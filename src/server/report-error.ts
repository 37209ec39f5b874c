/** Turns errors into those that clients see, and logs what only the owner of the server may see. */

import { InputError } from "../io/errors.ts";
import { type ApiError, apiErrorFrom } from "./api-error.ts";
import type { Log } from "./log.ts";

/** @param id of the request */
export type ReportError = (error: unknown, id?: string) => ApiError;

export const errorReporter =
  (log: Log): ReportError =>
  (error, id) => {
    const shown = apiErrorFrom(error);
    if (shown.code !== "internal" && shown.code !== "insufficient_storage") return shown;
    // A fault of a file or the machine has one line; anything else is a defect of reatt.
    const isFault = error instanceof InputError;
    const stack = error instanceof Error ? error.stack : String(error);
    log("error", isFault ? "fault" : "defect", {
      id,
      ...(isFault ? { message: error.message } : { stack }),
    });
    return shown;
  };
