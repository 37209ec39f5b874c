/** Errors of the HTTP interface: `{ "error": { "code", "message" } }` and a status. */

import { InputError, isSystemError } from "../io/errors.ts";

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
  overloaded: 503,
  stopping: 503,
  timeout: 504,
} as const;

export type ErrorCode = keyof typeof STATUSES;

export const ERROR_CODES = Object.keys(STATUSES) as [ErrorCode, ...ErrorCode[]];

export class ApiError extends Error {
  override readonly name: string = "ApiError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): (typeof STATUSES)[ErrorCode] {
    return STATUSES[this.code];
  }

  toJSON(): { error: { code: ErrorCode; message: string } } {
    return { error: { code: this.code, message: this.message } };
  }
}

/**
 * The error that a client sees. Bad input explains itself. Any other error is a defect or a fault
 * of the machine, which only the log describes.
 */
export function apiErrorFrom(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof InputError && !isSystemError(error.cause))
    return new ApiError("invalid_request", error.message, { cause: error });
  return new ApiError("internal", "the server could not do this; its log says why", {
    cause: error,
  });
}
