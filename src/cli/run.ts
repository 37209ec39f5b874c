/** Runs a command line. Exit codes: 0, 1 bad input, 2 wrong usage, 130 interrupted. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { InputError } from "../io/errors.ts";
import { configure, emptyCommand } from "./command.ts";
import type { CommandEntry } from "./commands.ts";
import { parse } from "./parse.ts";
import { UsageError } from "./usage-error.ts";

export const EXIT = { done: 0, badInput: 1, wrongUsage: 2, interrupted: 130 } as const;

/** @returns the exit code; an error is already on stderr */
export async function run(
  commands: readonly CommandEntry[],
  line: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const args = line[0] === "help" ? [...line.slice(1), "--help"] : line;
  try {
    await parse(programOf(commands, signal), args);
    return signal.aborted ? EXIT.interrupted : EXIT.done; // training saves and returns
  } catch (error) {
    return report(error, signal);
  }
}

function programOf(commands: readonly CommandEntry[], signal: AbortSignal): Command {
  const program = emptyCommand("reatt")
    .description("Retrieval as Attention: one model indexes, retrieves and answers.")
    .version(version(), "-v, --version", "show the version")
    .addHelpText("after", "\nreatt help COMMAND shows the options of a command.");
  const loaders = new Map<Command, NonNullable<CommandEntry["load"]>>();
  const load = async (parent: Command, command: Command): Promise<void> => {
    const { 1: next } = parent.args;
    if (command.commands.some((subcommand) => subcommand.name() === next)) return;
    const definition = await loaders.get(command)?.();
    if (definition) configure(command, definition, signal);
  };
  program.hook("preSubcommand", load);
  for (const { name, summary, group, load: loader } of commands) {
    const [first, second] = name.split(" ") as [string, string?];
    const parent = second ? program.commands.find((known) => known.name() === first)! : program;
    const command = parent
      .command(second ?? first)
      .description(summary)
      .hook("preSubcommand", load);
    if (group) command.helpGroup(group);
    if (loader) loaders.set(command, loader);
  }
  return program;
}

const version = (): string =>
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;

/** Writes one line to stderr. @returns the exit code */
export function report(error: unknown, signal: AbortSignal): number {
  const [line, code] = explain(error, signal);
  process.stderr.write(`reatt: ${line.replace(/[\s\p{Cc}]+/gu, " ")}\n`);
  if (process.env.REATT_DEBUG === "1" && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  return code;
}

function explain(error: unknown, signal: AbortSignal): [line: string, code: number] {
  if (signal.aborted)
    return [
      "interrupted; the same command continues, train and adapt with --resume",
      EXIT.interrupted,
    ];
  if (error instanceof UsageError)
    return [`${error.message}; reatt --help shows the usage`, EXIT.wrongUsage];
  const message = error instanceof Error ? error.message : String(error);
  // Errors of the operating system, such as a full disk, explain themselves.
  const expected =
    error instanceof InputError || (error as NodeJS.ErrnoException)?.syscall !== undefined;
  return [expected ? message : `defect: ${message}; REATT_DEBUG=1 shows where`, EXIT.badInput];
}
