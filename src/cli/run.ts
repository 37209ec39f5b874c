/** Runs a command line and says how it ended. Exit codes: 0, 1 bad input, 2 wrong usage, 130 interrupted. */

import { readFileSync } from "node:fs";
import { InputError } from "../io/errors.ts";
import { type Command, UsageError } from "./options.ts";

export const EXIT = { done: 0, badInput: 1, wrongUsage: 2, interrupted: 130 } as const;

/** @returns the exit code; what went wrong has then been said on stderr. */
export async function run(
  commands: readonly Command[],
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  try {
    await dispatch(commands, args, signal);
    return signal.aborted ? EXIT.interrupted : EXIT.done; // training saves, and returns
  } catch (error) {
    return report(error, signal);
  }
}

async function dispatch(
  commands: readonly Command[],
  line: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const [name] = line;
  if (name === "--help" || name === "-h") return print(help(commands));
  if (name === "--version") return print(`${version()}\n`);
  const command = findCommand(commands, line);
  if (command === undefined) {
    throw new UsageError(name === undefined ? "which command?" : `there is no command "${name}"`);
  }
  const args = line.slice(command.name.split(" ").length);
  if (args.includes("--help") || args.includes("-h")) return print(command.help());
  await command.run(args, signal);
}

/** A name may have two words: `index add` stands beside `index`. */
function findCommand(commands: readonly Command[], line: readonly string[]): Command | undefined {
  const named = (name: string) => commands.find((candidate) => candidate.name === name);
  return named(line.slice(0, 2).join(" ")) ?? named(String(line[0]));
}

function help(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const summaries = commands
    .map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`)
    .join("");
  return `Retrieval as Attention: one model indexes, retrieves and answers.\n
Usage: reatt COMMAND [options]\n
Commands:\n${summaries}
reatt COMMAND --help shows its options; reatt --version the version.\n`;
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

function print(text: string): void {
  process.stdout.write(text);
}

/** One line on stderr for the person at the keyboard, and the exit code. */
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
      "interrupted; the same command goes on, train and adapt with --resume",
      EXIT.interrupted,
    ];
  if (error instanceof UsageError)
    return [`${error.message}; reatt --help shows the usage`, EXIT.wrongUsage];
  const message = error instanceof Error ? error.message : String(error);
  // Errors of the operating system, such as a full disk, say what is wrong by themselves.
  const expected =
    error instanceof InputError || (error as NodeJS.ErrnoException)?.syscall !== undefined;
  return [expected ? message : `defect: ${message}; REATT_DEBUG=1 shows where`, EXIT.badInput];
}
