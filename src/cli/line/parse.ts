/** Runs a command of commander, with its errors as our own. */

import { type Command, CommanderError } from "commander";
import { UsageError } from "../shared/usage-error.ts";

/** @throws {UsageError} for a wrong command line */
export async function parse(command: Command, args: readonly string[]): Promise<void> {
  try {
    await command.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return; // help or version
    if (error.code === "commander.help") throw new UsageError("a command is missing");
    throw new UsageError(
      error.message
        .replace(/^error: /, "")
        .replace(/\.?\n/, " ")
        .replace(/\.$/, ""),
    );
  }
}
