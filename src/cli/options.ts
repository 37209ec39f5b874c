/** A command and its options, declared once: the table is parsed against, checked against and printed as help. */

import { type ParseArgsConfig, parseArgs } from "node:util";

interface TextOption {
  readonly kind: "text";
  readonly placeholder: string;
  readonly help: string;
  readonly required?: true;
}

interface IntegerOption {
  readonly kind: "integer";
  readonly help: string;
  readonly default?: number;
  readonly minimum: number;
}

interface NumberOption {
  readonly kind: "number";
  readonly help: string;
  readonly default?: number;
}

interface ChoiceOption {
  readonly kind: "choice";
  readonly help: string;
  readonly choices: readonly string[];
  readonly default?: string;
  /** The choice that the option is where none is written behind it. */
  readonly alone?: string;
}

interface FlagOption {
  readonly kind: "flag";
  readonly help: string;
}

type Option = TextOption | IntegerOption | NumberOption | ChoiceOption | FlagOption;
type Options = Readonly<Record<string, Option>>;

/** What parsing makes of a table of options. */
type Value<O extends Option> = O extends FlagOption
  ? boolean
  : O extends TextOption
    ? O extends { required: true }
      ? string
      : string | undefined
    : O extends ChoiceOption
      ? O["choices"][number] | (O extends { default: string } ? never : undefined)
      : O extends { default: number }
        ? number
        : number | undefined;
export type Values<T extends Options> = { readonly [Name in keyof T]: Value<T[Name]> };

/** Arguments without a name, after the options or among them. */
interface Operands {
  readonly placeholder: string;
  readonly help: string;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  help(): string;
  /** @throws {UsageError} when the arguments do not fit the options. */
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}

/** The command line was written wrongly: one line, and exit code 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export function defineCommand<const T extends Options>(definition: {
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /** Without this, an argument that is no option is refused. */
  readonly operands?: Operands;
  run(values: Values<T>, signal: AbortSignal, operands: readonly string[]): Promise<void>;
}): Command {
  const { name, summary, options, operands } = definition;
  const usage = `reatt ${name} [options]${operands ? ` ${operands.placeholder}` : ""}`;
  return {
    name,
    summary,
    help: () => `${summary}\n\nUsage: ${usage}\n\nOptions:\n${describe(options, operands)}\n`,
    run: (args, signal) => {
      const { values, positionals } = parseStrictly(args, options, operands !== undefined);
      return definition.run(resolveAll(values, options), signal, positionals);
    },
  };
}

function resolveAll<T extends Options>(given: Record<string, unknown>, options: T): Values<T> {
  const values = Object.entries(options).map(([name, option]) => [
    name,
    resolve(name, option, given[name]),
  ]);
  return Object.fromEntries(values) as Values<T>;
}

function parseStrictly(
  args: readonly string[],
  options: Options,
  allowPositionals: boolean,
): { values: Record<string, unknown>; positionals: string[] } {
  const types: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [name, { kind }] of Object.entries(options)) {
    types[name] = { type: kind === "flag" ? "boolean" : "string" };
  }
  try {
    return parseArgs({ args: withChoices(args, options), options: types, allowPositionals });
  } catch (error) {
    // Node's message goes on with advice, in further sentences and lines.
    throw new UsageError((error as Error).message.split(/\.\s|\n/)[0]!);
  }
}

/** `--name` alone becomes `--name=choice`, where it may stand alone. */
function withChoices(args: readonly string[], options: Options): string[] {
  return args.map((arg, i) => {
    const option = arg.startsWith("--") ? options[arg.slice(2)] : undefined;
    if (option?.kind !== "choice" || option.alone === undefined) return arg;
    return option.choices.includes(String(args[i + 1])) ? arg : `${arg}=${option.alone}`;
  });
}

function resolve(
  name: string,
  option: Option,
  given: unknown,
): string | number | boolean | undefined {
  if (option.kind === "flag") return given === true;
  if (option.kind === "integer")
    return given === undefined ? option.default : integer(name, option, String(given));
  if (option.kind === "number")
    return given === undefined ? option.default : number(name, String(given));
  if (option.kind === "choice")
    return given === undefined ? option.default : choice(name, option, String(given));
  if (given === undefined && option.required)
    throw new UsageError(`--${name} ${option.placeholder} is missing`);
  return given as string | undefined;
}

function integer(name: string, { minimum }: IntegerOption, given: string): number {
  const value = Number(given);
  if (/^\d+$/.test(given) && Number.isSafeInteger(value) && value >= minimum) return value;
  throw new UsageError(`--${name}: expected a whole number from ${minimum} on, got "${given}"`);
}

function number(name: string, given: string): number {
  const value = Number(given);
  if (given.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new UsageError(`--${name}: expected a number from 0 on, got "${given}"`);
}

function choice(name: string, { choices }: ChoiceOption, given: string): string {
  if (choices.includes(given)) return given;
  throw new UsageError(`--${name}: expected ${choices.join(", ")}, got "${given}"`);
}

function describe(options: Options, operands: Operands | undefined): string {
  const rows = Object.entries(options).map(([name, option]) => [
    `--${name}${placeholder(option)}`,
    option.help +
      ("default" in option
        ? ` (default ${option.default})`
        : "required" in option
          ? " (required)"
          : ""),
  ]);
  if (operands) rows.push([operands.placeholder, operands.help]);
  const width = Math.max(...rows.map(([left]) => left!.length));
  return rows.map(([left, right]) => `  ${left!.padEnd(width)}  ${right}`).join("\n");
}

function placeholder(option: Option): string {
  switch (option.kind) {
    case "flag":
      return "";
    case "integer":
      return " N";
    case "number":
      return " X";
    case "choice":
      return option.alone ? ` [${option.choices.join("|")}]` : ` ${option.choices.join("|")}`;
    case "text":
      return ` ${option.placeholder}`;
  }
}
