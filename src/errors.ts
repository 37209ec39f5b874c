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
    super(`${where}: expected ${expected}, got ${got}; ${remedy}`.replace(/\s*\p{Cc}\s*/gu, " "), options);
  }
}
