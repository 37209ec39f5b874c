#!/usr/bin/env node
/** The command line: which command runs, and how it ends. Exit codes: 0, 1 bad input, 2 wrong usage, 130 interrupted. */

import { readFileSync } from "node:fs";
import { InputError } from "../errors.ts";
import { answerCommand } from "./answer.ts";
import { indexCommand } from "./build-index.ts";
import { evaluateCommand } from "./evaluate.ts";
import { type Command, UsageError } from "./options.ts";
import { retrieveCommand } from "./retrieve.ts";

const COMMANDS: readonly Command[] = [indexCommand, retrieveCommand, answerCommand, evaluateCommand];
const EXIT = { done: 0, badInput: 1, wrongUsage: 2, interrupted: 130 } as const;

const abort = new AbortController();
process.on("SIGINT", () => {
  if (abort.signal.aborted) process.exit(EXIT.interrupted);
  abort.abort();
});
process.on("uncaughtException", (error) => process.exit(report(error)));
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Who reads the results, `head` say, has enough.
  process.exit(error.code === "EPIPE" ? EXIT.done : report(error));
});

process.exitCode = await main(process.argv.slice(2)).catch(report);

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "-h") return print(help());
  if (name === "--version") return print(`${version()}\n`);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) {
    throw new UsageError(name === undefined ? "which command?" : `there is no command "${name}"`);
  }
  if (args.includes("--help") || args.includes("-h")) return print(command.help());
  await command.run(args, abort.signal);
  return EXIT.done;
}

function help(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const commands = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`).join("");
  return `Retrieval as Attention: one model indexes, retrieves and answers.\n
Usage: reatt COMMAND [options]\n
Commands:\n${commands}
reatt COMMAND --help shows its options; reatt --version the version.\n`;
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

function print(text: string): number {
  process.stdout.write(text);
  return EXIT.done;
}

/** One line on stderr for the person at the keyboard, and the exit code. */
function report(error: unknown): number {
  const [line, code] = explain(error);
  process.stderr.write(`reatt: ${line.replace(/[\s\p{Cc}]+/gu, " ")}\n`);
  if (process.env.REATT_DEBUG === "1" && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return code;
}

function explain(error: unknown): [line: string, code: number] {
  if (abort.signal.aborted)
    return ["interrupted; the same command goes on where an index stopped", EXIT.interrupted];
  if (error instanceof UsageError) return [`${error.message}; reatt --help shows the usage`, EXIT.wrongUsage];
  const message = error instanceof Error ? error.message : String(error);
  // Errors of the operating system, such as a full disk, say what is wrong by themselves.
  const expected = error instanceof InputError || (error as NodeJS.ErrnoException)?.syscall !== undefined;
  return [expected ? message : `defect: ${message}; REATT_DEBUG=1 shows where`, EXIT.badInput];
}
