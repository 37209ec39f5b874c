/**
 * Errors that report bad input to the user. Any other error that reatt throws is a defect of reatt.
 */

import { type ErrorCode, INPUT_ERRORS } from "./error-codes.ts";

/** The parts of an error message: `where: expected ..., got ...; remedy`. */
export interface Problem {
  /** The file, option or value that is wrong. */
  readonly where: string;
  /** What would be right. */
  readonly expected: string;
  /** What was found instead. */
  readonly got: string;
  /** What the user can do. */
  readonly remedy: string;
  /** Default: that of the cause if the system reported it, else `ERR_REATT_BAD_INPUT`. */
  readonly code?: ErrorCode;
}

/**
 * A file, an option or a question cannot be used. The message is always one line:
 * `where: expected ..., got ...; remedy`. Control characters in the parts become spaces. A part of
 * more than 1,000 characters is shortened. `JSON.stringify` keeps all fields but the cause. They
 * can contain paths.
 *
 * @example
 * ```ts
 * import { InputError, readQuestions } from "reatt";
 *
 * try {
 *   await readQuestions("missing.jsonl");
 * } catch (error) {
 *   if (!(error instanceof InputError)) throw error;
 *   console.log(error.message);
 *   // missing.jsonl: expected a JSON Lines file, got ENOENT (no such file); check the path
 *   console.log(error.code, error.status); // ERR_REATT_NO_FILE 500
 * }
 * ```
 */
export class InputError extends Error implements Required<Problem> {
  /** Always `InputError`. */
  override readonly name: string = "InputError";
  /** What kind of problem it is. `docs/APPLICATION.md` has a table. */
  readonly code: ErrorCode;
  /** The file, option or value that is wrong. */
  readonly where: string;
  /** What it should be. */
  readonly expected: string;
  /** What it is. */
  readonly got: string;
  /** What the user can do. */
  readonly remedy: string;

  constructor(problem: Problem, options?: ErrorOptions) {
    checkProblem(problem);
    const [where, expected, got, remedy] = (["where", "expected", "got", "remedy"] as const).map(
      (name) => shorten(problem[name]),
    ) as [string, string, string, string];
    super(`${where}: expected ${expected}, got ${got}; ${remedy}`, options);
    this.code = problem.code ?? codeOf(options?.cause);
    this.where = where;
    this.expected = expected;
    this.got = got;
    this.remedy = remedy;
  }

  /** The status of a reply over HTTP, such as 400 or 507. `docs/APPLICATION.md` has a table. */
  get status(): number {
    return INPUT_ERRORS[this.code].status;
  }

  /**
   * What `JSON.stringify` writes.
   *
   * @example
   * ```ts
   * import { InputError } from "reatt";
   *
   * const problem = { where: "x", expected: "a folder", got: "a file", remedy: "name a folder" };
   * console.log(JSON.parse(JSON.stringify(new InputError(problem))).got); // a file
   * ```
   */
  toJSON(): Required<Problem> & { name: string; message: string; status: number } {
    const { name, message, code, status, where, expected, got, remedy } = this;
    return { name, message, code, status, where, expected, got, remedy };
  }
}

/** The codes for errors of the operating system. */
const SYSTEM_CODES: Readonly<Record<string, ErrorCode>> = {
  EACCES: "ERR_REATT_NO_PERMISSION",
  EPERM: "ERR_REATT_NO_PERMISSION",
  EROFS: "ERR_REATT_NO_PERMISSION",
  EMFILE: "ERR_REATT_TOO_MANY_FILES",
  ENFILE: "ERR_REATT_TOO_MANY_FILES",
  ENOENT: "ERR_REATT_NO_FILE",
  ENOSPC: "ERR_REATT_DISK_FULL",
  EDQUOT: "ERR_REATT_DISK_FULL",
  EFBIG: "ERR_REATT_DISK_FULL",
};

/** The code of an error with this cause. */
function codeOf(cause: unknown): ErrorCode {
  if (cause instanceof InputError) return cause.code;
  return (isSystemError(cause) && SYSTEM_CODES[cause.code!]) || "ERR_REATT_BAD_INPUT";
}

/** @throws {InputError} unless all parts are text and the code is known */
function checkProblem(given: Problem): void {
  const parts = (given ?? {}) as Partial<Problem>;
  if (parts.code !== undefined && !Object.hasOwn(INPUT_ERRORS, parts.code))
    throw new InputError({
      where: "new InputError",
      expected: `a code among ${Object.keys(INPUT_ERRORS).join(", ")}`,
      got: String(parts.code),
      remedy: "leave it out",
    });
  for (const name of ["where", "expected", "got", "remedy"] as const)
    if (typeof parts[name] !== "string")
      throw new InputError({
        where: "new InputError",
        expected: `"${name}" as text`,
        got: parts[name] === undefined ? "nothing" : `a value of the type ${typeof parts[name]}`,
        remedy: "give { where, expected, got, remedy }",
      });
}

const MAX_PART_LENGTH = 1_000; // characters; an id in a file can have 64 MiB

/** One line of a part. */
function shorten(part: string): string {
  const short = part.length > MAX_PART_LENGTH ? `${part.slice(0, MAX_PART_LENGTH)}…` : part;
  const lines = short.split(/[\p{Cc}\u2028\u2029]/u).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/** Meanings of the error codes of the operating system (errno). */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EISDIR: "a directory",
  EIO: "an error of the disk",
  EMFILE: "too many open files",
  ENFILE: "too many open files in the system",
  ENOENT: "no such file",
  ENOSPC: "a full disk",
  ENOTDIR: "a file in place of a directory of the path",
  EROFS: "a read-only disk",
  ESPIPE: "a pipe, which has no positions",
};

/** Describes a system error for the `got` part of an `InputError`: `ENOENT (no such file)`. */
export function systemProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof InputError) return message;
  return MEANINGS[code] ? `${code} (${MEANINGS[code]})` : code;
}

/**
 * Whether the operating system reported the error: it then has a code such as `ENOENT` and a system
 * call.
 */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}

/** True if this process, or the system, has as many open files as it may have. */
export const isTooManyFiles = (error: unknown): boolean =>
  isSystemError(error) && (error.code === "EMFILE" || error.code === "ENFILE");

/** Whether the system reported that a file or folder does not exist. */
export const isMissing = (error: unknown): boolean =>
  isSystemError(error) && error.code === "ENOENT";

/**
 * The `InputError` for an error of the operating system. Returns any other error unchanged, so that
 * callers can write `throw inputErrorFrom(error, ...)`.
 */
export function inputErrorFrom(error: unknown, problem: Omit<Problem, "got">): unknown {
  if (!isSystemError(error)) return error;
  return new InputError({ ...problem, got: systemProblem(error) }, { cause: error });
}

/** What to do where too many files are open, by the code of the error. */
export const OPEN_FILE_REMEDIES: Readonly<Record<string, string>> = {
  EMFILE: "raise the limit of open files (ulimit -n)",
  ENFILE: "raise the limit of open files of the system",
};

const WRITE_REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: "free some space on the disk and run it again",
  ...OPEN_FILE_REMEDIES,
};

/** The `InputError` for a failure to write `where`. Returns any other error unchanged. */
export function writeErrorFrom(error: unknown, where: string): unknown {
  const code = isSystemError(error) ? error.code! : "";
  const remedy = WRITE_REMEDIES[code] ?? "choose a place where you may write";
  return inputErrorFrom(error, { where, expected: "to be able to write", remedy });
}
