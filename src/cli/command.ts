/** Commands of `reatt`: an option table each, which commander parses and prints as help. */

import { type Command, Option } from "commander";
import {
  defaultOf,
  infoOf,
  isRequired,
  type OptionTable,
  type Resolved,
} from "../options/option.ts";
import { helpTerms } from "./empty-command.ts";
import { flagOf } from "./flag-name.ts";
import { describeOption, placeholderOf, readText, takesValue } from "./option-text.ts";
import { UsageError } from "./usage-error.ts";

/** Arguments without a name. */
interface Operands {
  /** The name in help: `SHARD...` for a list. */
  readonly placeholder: string;
  readonly help: string;
}

export interface CliCommand {
  readonly options: OptionTable;
  readonly operands?: Operands | undefined;
  /** Whether the command runs until a signal: being stopped is then success. Default: false. */
  readonly endsBySignal?: boolean;
  /** A command line that works, for help. */
  readonly example: string;
  run(values: never, signal: AbortSignal, operands: readonly string[]): Promise<void>;
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

/** Types the values that `run` receives by the option table. */
export function defineCommand<Table extends OptionTable>(
  definition: Omit<CliCommand, "options" | "run"> & {
    readonly options: Table;
    run(values: Resolved<Table>, signal: AbortSignal, operands: readonly string[]): Promise<void>;
  },
): CliCommand {
  return definition;
}

/** Adds the options, the operands and the action of a definition. */
export function configure(command: Command, definition: CliCommand, signal: AbortSignal): void {
  const { options, operands, example } = definition;
  const given = new Map<string, unknown>();
  for (const [name, schema] of Object.entries(options))
    for (const added of optionsOf(name, schema, command, given)) command.addOption(added);
  if (operands) {
    const { placeholder, help } = operands;
    command.argument(`[${placeholder}]`, help).usage(`[options] ${placeholder}`);
  }
  command.addHelpText("after", `\nExample:\n  ${example}`);
  command.action(() =>
    definition.run(valuesOf(options, given) as never, signal, [...command.args]),
  );
}

/** The flag, its negation if the option can be switched off, and its aliases. */
function optionsOf(
  name: string,
  schema: OptionTable[string],
  command: Command,
  given: Map<string, unknown>,
): Option[] {
  const { aliases = [], group = "Options", alone, hidden: isHidden = false } = infoOf(schema);
  const placeholder = placeholderOf(schema);
  const add = (flag: string, values?: Readonly<Record<string, unknown>>): Option => {
    const isNegation = flag === `no-${flagOf(name)}`;
    const takesText = values !== undefined || takesValue(schema);
    const value = alone === undefined ? `<${placeholder}>` : `[${placeholder}]`;
    return new Option(takesText ? `--${flag} ${value}` : `--${flag}`, describeOption(schema))
      .preset(alone)
      .helpGroup(`${group}:`)
      .argParser((text: string | undefined) => {
        if (given.has(name)) throw new UsageError(`--${flag}: the option is given twice`);
        if (command.options.some(({ long }) => long === text))
          throw new UsageError(`--${flag} ${placeholder} is missing`);
        given.set(name, takesText ? readText(schema, flag, text!, values) : !isNegation);
      });
  };
  const main = add(flagOf(name)).hideHelp(isHidden);
  const hidden = aliases.map(({ flag, values }) => add(flag, values).hideHelp());
  const canBeFalse = !takesValue(schema) && defaultOf(schema) !== false;
  if (canBeFalse) hidden.push(add(`no-${flagOf(name)}`).hideHelp());
  helpTerms.set(main, canBeFalse ? `--[no-]${flagOf(name)}` : main.flags.replace(/[<>]/g, ""));
  return [main, ...hidden];
}

/** The values that were given, and defaults. @throws {UsageError} for a missing option */
function valuesOf(options: OptionTable, given: ReadonlyMap<string, unknown>): object {
  const values = Object.entries(options).map(([name, schema]) => {
    if (given.has(name)) return [name, given.get(name)];
    if (isRequired(schema))
      throw new UsageError(`--${flagOf(name)} ${placeholderOf(schema)} is missing`);
    return [name, defaultOf(schema)];
  });
  return Object.fromEntries(values);
}
