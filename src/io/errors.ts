/** Errors whose message is meant for the person at the keyboard. Everything else that is thrown is a defect. */

/**
 * Something that came from outside (a file, an option, a question) cannot be used.
 *
 * The message is one line, whatever its parts hold: `where: expected …, got …; remedy`.
 */
export class InputError extends Error {
  override readonly name: string = "InputError";

  constructor(
    problem: { where: string; expected: string; got: string; remedy: string },
    options?: ErrorOptions,
  ) {
    const { where, expected, got, remedy } = problem;
    super(
      `${where}: expected ${expected}, got ${got}; ${remedy}`.replace(/\s*\p{Cc}\s*/gu, " "),
      options,
    );
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EISDIR: "a folder",
  EMFILE: "too many open files",
  ENOENT: "no such file",
  ENOSPC: "a full disk",
  ENOTDIR: "a file on the way to it",
  EROFS: "a disk that can only be read",
};

/** What the system said, for the `got` of an `InputError`: `ENOENT (no such file)`. */
export function systemProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return MEANINGS[code] ? `${code} (${MEANINGS[code]})` : code;
}
