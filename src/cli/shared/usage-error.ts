/** A command line that is wrong: one line on stderr and exit code 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}
