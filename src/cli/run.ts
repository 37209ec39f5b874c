/** Runs a command line. Exit codes: 0, 1 bad input, 2 wrong usage, 3 in part, 130 interrupted. */

import type { Command } from "commander";
import { InputError, isTooManyFiles, systemProblem } from "../io/errors.ts";
import { version } from "../io/version.ts";
import { closestName } from "../options/closest-name.ts";
import type { CliCommand, CommandEntry } from "./line/command.ts";
import { emptyCommand } from "./line/empty-command.ts";
import { OptionsFileError } from "./line/options-file-error.ts";
import { parse } from "./line/parse.ts";
import { plain } from "./output/plain.ts";
import { type CommandEnd, EXIT } from "./shared/exit.ts";
import { flagOf } from "./shared/flag-name.ts";
import { UsageError } from "./shared/usage-error.ts";

/** @returns the exit code; an error is already on stderr */
export async function run(
  commands: readonly CommandEntry[],
  line: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const [first = "help", ...others] = line;
  const args = first === "help" ? [...others, "--help"] : line;
  let loaded: CliCommand | undefined;
  let end: CommandEnd;
  const listener: Listener = {
    onLoad: (definition) => {
      loaded = definition;
    },
    onEnd: (own) => {
      end = own;
    },
  };
  try {
    checkNames(commands, args);
    await parse(programOf(commands, signal, listener), args);
    const isInterrupted = signal.aborted && !loaded?.endsBySignal; // training saves and returns
    if (isInterrupted) return EXIT.interrupted;
    return end === "in part" ? EXIT.inPart : EXIT.done;
  } catch (error) {
    return report(error, signal, helpFor(commands, args), loaded);
  }
}

/** The command line that shows the help of the command in `args`. */
function helpFor(commands: readonly CommandEntry[], args: readonly string[]): string {
  const [first = "", second = ""] = args;
  const name = [`${first} ${second}`, first].find((words) =>
    commands.some((known) => known.name === words),
  );
  return name === undefined ? "reatt --help" : `reatt help ${name}`;
}

/** @throws {UsageError} if the first words are no command, also before `--help` */
function checkNames(commands: readonly CommandEntry[], words: readonly string[]): void {
  let parent = "";
  for (const word of words.slice(0, 2)) {
    const within = commands.filter(({ name }) => name.startsWith(parent));
    const names = within.map(({ name }) => name.slice(parent.length));
    if (word.startsWith("-") || names.length === 0) return;
    if (!names.includes(word)) throw unknownCommand(word, names, parent);
    parent = `${parent}${word} `;
  }
}

function unknownCommand(word: string, names: readonly string[], parent: string): UsageError {
  const meant = closestName(
    word,
    names.filter((name) => !name.includes(" ")),
  );
  const hint = meant === undefined ? "" : ` (Did you mean ${parent}${meant}?)`;
  return new UsageError(`unknown command '${parent}${word}'${hint}`);
}

const EXAMPLES = `
Examples:
  reatt index --corpus docs --out index
  reatt answer --index index "How do I install it?"
  reatt serve --index index

reatt help COMMAND shows the options and an example of a command.`;

interface Listener {
  /** Receives the definition of the command that runs, or whose help is shown. */
  readonly onLoad: (definition: CliCommand) => void;
  readonly onEnd: (end: CommandEnd) => void;
}

function programOf(
  commands: readonly CommandEntry[],
  signal: AbortSignal,
  { onLoad, onEnd }: Listener,
): Command {
  const program = emptyCommand("reatt")
    .description("Retrieval as Attention: one model indexes, retrieves and answers.")
    .version(version(), "-v, --version", "show the version")
    .addHelpText("after", EXAMPLES);
  const loaders = new Map<Command, NonNullable<CommandEntry["load"]>>();
  const load = async (parent: Command, command: Command): Promise<void> => {
    const { 1: next } = parent.args;
    if (command.commands.some((subcommand) => subcommand.name() === next)) return;
    const definition = await loaders.get(command)?.();
    if (!definition) return;
    onLoad(definition);
    const { configure } = await import("./line/command.ts"); // zod, which --version does not need
    configure(command, definition, signal, onEnd);
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

/**
 * Writes one line to stderr.
 *
 * @param help the command line that shows the help
 * @param command that ran: messages of the library have the names of its options in code
 * @returns the exit code
 */
export function report(
  error: unknown,
  signal: AbortSignal,
  help = "reatt --help",
  command?: CliCommand,
): number {
  const [line, code] = explain(withFileHint(error, command), signal, help);
  const isOfFlags = error instanceof InputError && !(error instanceof OptionsFileError);
  const flagged = isOfFlags ? withFlags(line, command?.flags ?? []) : line;
  process.stderr.write(`reatt: ${plain(flagged)}\n`);
  if (process.env.REATT_DEBUG === "1" && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  return code;
}

/** `overlapWords: expected …` -> `--overlap-words: expected …` */
function withFlags(message: string, names: readonly string[]): string {
  const known = new Set(names);
  return message.replace(/(?<![\w./-])[a-z]+[A-Z]\w*(?![\w./-])/g, (word) =>
    known.has(word) ? `--${flagOf(word)}` : word,
  );
}

/** An option that only a file can give is no flag: the error says where it belongs. */
function withFileHint(error: unknown, command: CliCommand | undefined): unknown {
  if (!(error instanceof UsageError) || !command) return error;
  const [, flag] = /^unknown option '--([a-z-]+)'/.exec(error.message) ?? [];
  const name = Object.keys(command.options).find((known) => flagOf(known) === flag);
  if (name === undefined) return error;
  return new UsageError(`--${flag} is no flag: give {"${name}": ...} in --options FILE.json`);
}

/**
 * Whether a module of the program cannot be loaded. With too few descriptors, Node says that it
 * cannot find a package.
 */
const isUnloadable = (error: unknown): boolean =>
  isTooManyFiles(error) || (error as NodeJS.ErrnoException)?.code === "ERR_MODULE_NOT_FOUND";

const unloadable = (error: unknown): InputError =>
  new InputError({
    where: "reatt",
    expected: "to be able to open its files",
    got: isTooManyFiles(error) ? systemProblem(error) : (error as Error).message,
    remedy: "raise the limit of open files (ulimit -n), or install reatt again",
  });

function explain(error: unknown, signal: AbortSignal, help: string): [line: string, code: number] {
  if (signal.aborted)
    return [
      "interrupted; the same command continues, train and adapt with --resume",
      EXIT.interrupted,
    ];
  if (error instanceof UsageError)
    return [`${error.message}; ${help} shows the usage`, EXIT.wrongUsage];
  const shown = isUnloadable(error) ? unloadable(error) : error;
  const message = shown instanceof Error ? shown.message : String(shown);
  // Errors of the operating system, such as a full disk, explain themselves.
  const expected =
    shown instanceof InputError || (shown as NodeJS.ErrnoException)?.syscall !== undefined;
  return [expected ? message : `defect: ${message}; REATT_DEBUG=1 shows where`, EXIT.badInput];
}
