/** Commands of `reatt`: an option table each, which commander parses and prints as help. */

import { type Command, Option } from "commander";
import {
  defaultOf,
  type Given,
  infoOf,
  isRequired,
  type OptionTable,
  type Resolved,
} from "../../options/option.ts";
import { applyCollection, applyStore } from "../collections/collection-values.ts";
import type { CommandEnd } from "../shared/exit.ts";
import { flagOf } from "../shared/flag-name.ts";
import { UsageError } from "../shared/usage-error.ts";
import { helpTerms } from "./empty-command.ts";
import { describeOption, placeholderOf, readText, takesValue } from "./option-text.ts";
import { OPTIONS_FILE, readOptions } from "./options-file.ts";

/** Arguments without a name. */
interface Operands {
  /** The name in help: `SHARD...` for a list. */
  readonly placeholder: string;
  readonly help: string;
}

/** Functions of the library by name. */
type Library = Readonly<Record<string, (...given: never[]) => unknown>>;

type Run<Values, Called> = (
  values: Values,
  signal: AbortSignal,
  operands: readonly string[],
  library: Called,
) => Promise<CommandEnd> | Promise<void>;

export interface CliCommand {
  readonly options: OptionTable;
  /**
   * What the command calls of the library, beside the methods of `ReAtt`. A test puts others in
   * their place, to see which values they receive (test/cli/library.test.ts).
   */
  readonly library?: Library | undefined;
  readonly operands?: Operands | undefined;
  /** Whether the command runs until a signal: being stopped is then success. Default: false. */
  readonly endsBySignal?: boolean;
  /**
   * Whether a file can give options too (`--options FILE`). Then `run` receives what was given,
   * without defaults. Default: false.
   */
  readonly takesFile?: boolean;
  /** The names of the options that have a flag. */
  readonly flags: readonly string[];
  /** A command line that works, for help. */
  readonly example: string;
  readonly run: Run<never, never>;
}

/** A command in the list of all commands. */
export interface CommandEntry {
  /** One word, or two for a subcommand, which follows its parent. */
  readonly name: string;
  readonly summary: string;
  /** Heading in help. */
  readonly group?: string;
  /** Undefined for a command that has only subcommands. */
  readonly load?: () => Promise<CliCommand>;
}

type Definition<Table, Values, Called> = Omit<CliCommand, "flags" | "library" | "run"> & {
  readonly options: Table;
  readonly library?: Called | undefined;
  readonly run: Run<Values, Called>;
};

/** Types the values that `run` receives by the option table. */
export const defineCommand = <Table extends OptionTable, Called extends Library>(
  definition: Definition<Table, Resolved<Table>, Called>,
): CliCommand => ({ ...definition, flags: flagged(definition.options) });

/** The same for a command that takes a file of options. */
export const defineFileCommand = <Table extends OptionTable, Called extends Library>(
  definition: Definition<Table, Given<Table>, Called>,
): CliCommand => ({ ...definition, takesFile: true, flags: flagged(definition.options) });

const flagged = (options: OptionTable): string[] =>
  Object.keys(options).filter((name) => infoOf(options[name]!).flag !== false);

/** Adds the options, the operands and the action of a definition. */
export function configure(
  command: Command,
  definition: CliCommand,
  signal: AbortSignal,
  onEnd: (end: CommandEnd) => void,
): void {
  const { options, operands, example, takesFile = false, library = {} } = definition;
  const given = new Map<string, unknown>();
  const table = takesFile ? { ...options, ...OPTIONS_FILE } : options;
  for (const [name, schema] of Object.entries(table))
    if (infoOf(schema).flag !== false)
      for (const added of optionsOf(name, schema, command, given)) command.addOption(added);
  if (operands) {
    const { placeholder, help } = operands;
    command.argument(`[${placeholder}]`, help).usage(`[options] ${placeholder}`);
  }
  command.addHelpText("after", `\nExample:\n  ${example}`);
  command.action(async () => {
    applyStore(options, given);
    await applyCollection(options, given, signal);
    const values = takesFile ? await givenValues(options, given) : valuesOf(options, given);
    const end = await definition.run(values as never, signal, [...command.args], library as never);
    onEnd(end ?? undefined);
  });
}

/** The flag, and its negation if the option can be switched off. */
function optionsOf(
  name: string,
  schema: OptionTable[string],
  command: Command,
  given: Map<string, unknown>,
): Option[] {
  const { group = "Options" } = infoOf(schema);
  const placeholder = placeholderOf(schema);
  const takesText = takesValue(schema);
  const add = (flag: string, value?: boolean): Option =>
    new Option(takesText ? `--${flag} <${placeholder}>` : `--${flag}`, describeOption(schema))
      .helpGroup(`${group}:`)
      .argParser((text: string) => {
        const { repeated } = infoOf(schema);
        if (given.has(name) && !repeated)
          throw new UsageError(`--${flag}: the option is given twice`);
        if (command.options.some(({ long }) => long === text))
          throw new UsageError(`--${flag} ${placeholder} is missing`);
        const read = value ?? readText(schema, flag, text);
        given.set(name, repeated ? [...((given.get(name) as unknown[]) ?? []), read].flat() : read);
      });
  const canBeFalse = !takesText && defaultOf(schema) !== false;
  const main = add(flagOf(name), takesText ? undefined : true);
  helpTerms.set(main, canBeFalse ? `--[no-]${flagOf(name)}` : main.flags.replace(/[<>]/g, ""));
  return canBeFalse ? [main, add(`no-${flagOf(name)}`, false).hideHelp()] : [main];
}

/** The values that were given, and defaults. @throws {UsageError} for a missing option */
function valuesOf(options: OptionTable, given: ReadonlyMap<string, unknown>): object {
  checkRequired(options, given);
  const values = Object.entries(options).map(([name, schema]) => [
    name,
    given.has(name) ? given.get(name) : defaultOf(schema),
  ]);
  return Object.fromEntries(values);
}

/**
 * The values of the flags, and those of the file for options without a flag on the command line.
 *
 * @throws {InputError} if the file cannot be used
 * @throws {UsageError} for a missing option
 */
async function givenValues(
  options: OptionTable,
  given: ReadonlyMap<string, unknown>,
): Promise<object> {
  const { options: file, ...flags } = Object.fromEntries(given);
  const ofFile = file === undefined ? {} : await readOptions(file as string, options);
  const values = { ...ofFile, ...flags };
  checkRequired(options, new Map(Object.entries(values)));
  return values;
}

function checkRequired(options: OptionTable, given: ReadonlyMap<string, unknown>): void {
  for (const [name, schema] of Object.entries(options))
    if (!given.has(name) && isRequired(schema))
      throw new UsageError(`--${flagOf(name)} ${placeholderOf(schema)} is missing`);
}
