/**
 * Errors that report bad input to the user. Any other error that reatt throws is a defect of reatt.
 */

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
}

/**
 * A file, an option or a question cannot be used. The message is always one line:
 * `where: expected ..., got ...; remedy`. Control characters in the parts become spaces. A part of
 * more than 1,000 characters is shortened.
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
 * }
 * ```
 */
export class InputError extends Error {
  /** Always `InputError`. */
  override readonly name: string = "InputError";

  constructor(problem: Problem, options?: ErrorOptions) {
    const { where, expected, got, remedy } = checkProblem(problem);
    const parts = [where, expected, got, remedy].map(shorten);
    const message = `${parts[0]}: expected ${parts[1]}, got ${parts[2]}; ${parts[3]}`;
    super(message.replace(/\s*[\p{Cc}\u2028\u2029]\s*/gu, " "), options);
  }
}

/** @throws {InputError} unless all parts are text */
function checkProblem(given: Problem): Problem {
  const parts = (given ?? {}) as Partial<Problem>;
  for (const name of ["where", "expected", "got", "remedy"] as const)
    if (typeof parts[name] !== "string")
      throw new InputError({
        where: "new InputError",
        expected: `"${name}" as text`,
        got: parts[name] === undefined ? "nothing" : `a value of the type ${typeof parts[name]}`,
        remedy: "give { where, expected, got, remedy }",
      });
  return given;
}

const MAX_PART_LENGTH = 1_000; // characters; an id in a file can have 64 MiB

function shorten(part: string): string {
  return part.length > MAX_PART_LENGTH ? `${part.slice(0, MAX_PART_LENGTH)}…` : part;
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
};

/** Describes a system error for the `got` part of an `InputError`: `ENOENT (no such file)`. */
export function systemProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
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

/** Full disks and quotas, and the limit of the size of a file. */
const FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Whether the system had no space, which the cause of an `InputError` says. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error &&
  ((isSystemError(error) && FULL.has(error.code!)) || isFullDisk(error.cause));

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
