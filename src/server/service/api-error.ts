/** Errors of the HTTP interface: `{ "error": { "code", "message" } }` and a status. */

import { InputError } from "../../io/errors.ts";

/** The status of each code. */
const STATUSES = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  cancelled: 499, // as nginx logs a client that has gone; nobody receives it
  internal: 500,
  insufficient_storage: 507,
  overloaded: 503,
  unavailable: 503,
  stopping: 503,
  timeout: 504,
} as const;

export type ApiErrorCode = keyof typeof STATUSES;

export const ERROR_CODES = Object.keys(STATUSES) as [ApiErrorCode, ...ApiErrorCode[]];

export class ApiError extends Error {
  override readonly name: string = "ApiError";
  readonly code: ApiErrorCode;

  constructor(code: ApiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): (typeof STATUSES)[ApiErrorCode] {
    return STATUSES[this.code];
  }

  toJSON(): { error: { code: ApiErrorCode; message: string } } {
    return { error: { code: this.code, message: this.message } };
  }
}

/**
 * The error that a client sees. A request is checked before work begins, so an error of the work is
 * a defect or a fault of the machine or of the index. Only the log describes it: it has paths.
 */
export function apiErrorFrom(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const options = { cause: error };
  const code = error instanceof InputError ? error.code : undefined;
  // Only the index knows the fields of its passages.
  if (code === "ERR_REATT_BAD_CONDITION")
    return new ApiError("invalid_request", (error as InputError).message, options);
  if (error instanceof Error && error.name === "AbortError")
    return new ApiError("cancelled", "the request was cancelled", options);
  if (code === "ERR_REATT_BUSY")
    return new ApiError("conflict", "another process changes the index; try again later", options);
  if (code === "ERR_REATT_DISK_FULL")
    return new ApiError("insufficient_storage", "the disk of the server is full", options);
  if (code === "ERR_REATT_STORE_AWAY")
    return new ApiError("unavailable", "the index cannot be reached; try again later", options);
  return new ApiError("internal", "the server could not do this; its log says why", options);
}

/** Does a check of a request, whose `InputError` is for the client. */
export function ofRequest<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new ApiError("invalid_request", error.message, { cause: error });
  }
}
