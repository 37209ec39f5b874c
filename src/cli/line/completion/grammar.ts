/** What a shell has to know about the commands to complete a command line. */

import { z } from "zod";
import { infoOf, type OptionTable, valueSchema } from "../../../options/option.ts";
import { flagOf } from "../../shared/flag-name.ts";
import type { CommandEntry } from "../command.ts";
import { placeholderOf, takesValue } from "../option-text.ts";
import { OPTIONS_FILE } from "../options-file.ts";

/** What can follow a flag. `nothing` in particular: a number or a text. */
export type Value =
  | { readonly kind: "file" | "folder" | "nothing" }
  | { readonly kind: "words"; readonly words: readonly string[] };

export interface Flag {
  /** With two hyphens. */
  readonly name: string;
  readonly help: string;
  /** Undefined for a flag without a value. */
  readonly value?: Value;
}

export interface CommandGrammar {
  /** One or two words; none for the program itself. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** What can stand without a flag. */
  readonly operand: Value;
  readonly subcommands: readonly { readonly name: string; readonly summary: string }[];
}

const HELP: Flag = { name: "--help", help: "show this help" };
const VERSION: Flag = { name: "--version", help: "show the version" };
const NOTHING: Value = { kind: "nothing" };

/** The program, then every command. Loads all commands. */
export async function grammarOf(commands: readonly CommandEntry[]): Promise<CommandGrammar[]> {
  const program = {
    name: "",
    summary: "",
    flags: [HELP, VERSION],
    operand: NOTHING,
    subcommands: [
      ...commands.filter(({ name }) => !name.includes(" ")),
      { name: "help", summary: "Show the options of a command." },
    ],
  };
  return [
    program,
    ...(await Promise.all(commands.map((entry) => commandGrammar(entry, commands)))),
  ];
}

async function commandGrammar(
  { name, summary, load }: CommandEntry,
  commands: readonly CommandEntry[],
): Promise<CommandGrammar> {
  const definition = await load?.();
  const file: OptionTable = definition?.takesFile ? OPTIONS_FILE : {};
  const options = Object.entries({ ...definition?.options, ...file });
  const shown = options.filter(([, schema]) => infoOf(schema).flag !== false);
  const subcommands = commands
    .filter((entry) => entry.name.startsWith(`${name} `))
    .map((entry) => ({ ...entry, name: entry.name.slice(name.length + 1) }));
  return {
    name,
    summary,
    flags: [...shown.map(([option, schema]) => flag(option, schema)), HELP],
    operand: definition?.operands ? valueFor(definition.operands.placeholder) : NOTHING,
    subcommands,
  };
}

function flag(option: string, schema: z.ZodType): Flag {
  const named = { name: `--${flagOf(option)}`, help: infoOf(schema).help };
  if (!takesValue(schema)) return named;
  const value = valueSchema(schema);
  if (value instanceof z.ZodEnum)
    return { ...named, value: { kind: "words", words: value.options.map(String) } };
  return { ...named, value: valueFor(placeholderOf(schema)) };
}

/** Placeholders say what a value is: `DIR`, `FILE.jsonl`, `bash|zsh|fish`. */
function valueFor(placeholder: string): Value {
  if (/\b(DIR|FOLDER|SHARD)\b/.test(placeholder) && !placeholder.includes("FILE"))
    return { kind: "folder" };
  if (/\b(DIR|FOLDER|FILE)\b/.test(placeholder)) return { kind: "file" };
  const words = placeholder.split("|");
  return words.every((word) => /^[a-z\d]+$/.test(word)) ? { kind: "words", words } : NOTHING;
}
