/**
 * Options of the library and the command line. Each option is one zod schema with its metadata:
 * flags, help texts, validation, defaults and the records of a run are all derived from it.
 */

import { z } from "zod";

/** Options by name. The flag of `maxPassageTokens` is `--max-passage-tokens`. */
export type OptionTable = Readonly<Record<string, z.ZodType>>;

export interface OptionInfo {
  /** One line for help, without the default. */
  readonly help: string;
  /** The value as help shows it. Default: N, X or the choices. */
  readonly placeholder?: string;
  /** The default in words, if it is not a constant. */
  readonly defaultText?: string;
  /** Heading in help. Default: `Options`. */
  readonly group?: string;
  /**
   * Whether the command line has a flag for the option. Without one, the library and the file of
   * `--options` give it. Default: true.
   */
  readonly flag?: boolean;
  /** Reads the value from the text on the command line. Default: as the schema's type requires. */
  readonly parse?: (text: string) => unknown;
  /** Whether the flag can be given several times, for a list. Default: false. */
  readonly repeated?: boolean;
  /**
   * Whether the command uses the value itself, for files that it reads or for its output: the
   * library receives what it makes of it. Default: false.
   */
  readonly own?: boolean;
  /** Whether the model card shows the option. Default: true. */
  readonly card?: boolean;
}

const infos = new WeakMap<z.ZodType, OptionInfo>();

/** Attaches metadata to a schema. */
export function option<Schema extends z.ZodType>(schema: Schema, info: OptionInfo): Schema {
  infos.set(schema, info);
  return schema;
}

/** The metadata of an option. */
export function infoOf(schema: z.ZodType): OptionInfo {
  const info = infos.get(schema);
  if (info) return info;
  throw new Error("the schema is not an option");
}

/** The same option with another default. */
export const withDefault = <Inner extends z.ZodType>(
  original: z.ZodDefault<Inner>,
  value: z.output<Inner>,
): z.ZodDefault<Inner> => option(original.unwrap().default(value as never), infoOf(original));

/** The same option with a default that depends on other values. */
export const withDerivedDefault = <Inner extends z.ZodType>(
  original: z.ZodDefault<Inner>,
  defaultText: string,
): z.ZodOptional<Inner> =>
  option(original.unwrap().optional(), { ...infoOf(original), defaultText });

/** The same option without a flag. */
export const withoutFlag = <Schema extends z.ZodType>(original: Schema): Schema =>
  option(original.clone(), { ...infoOf(original), flag: false });

/** The same option, whose value the command uses itself. */
export const own = <Schema extends z.ZodType>(original: Schema): Schema =>
  option(original.clone(), { ...infoOf(original), own: true });

/** A required option that may be left out here. */
export const optionally = <Inner extends z.ZodType>(
  original: Inner,
  defaultText?: string,
): z.ZodOptional<Inner> => {
  const info = { ...infoOf(original), ...(defaultText !== undefined && { defaultText }) };
  return option(original.optional(), info);
};

/** The schema without `optional` and `default`. */
export function valueSchema(schema: z.ZodType): z.ZodType {
  return unwrapped(schema).at(-1)!;
}

/** The default of an option, or undefined. */
export function defaultOf(schema: z.ZodType): unknown {
  return unwrapped(schema).find((part) => part instanceof z.ZodDefault)?.def.defaultValue;
}

/** Whether a value must be given. */
export const isRequired = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success;

/** From the outermost wrapper to the innermost schema. */
function unwrapped(schema: z.ZodType): z.ZodType[] {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return isWrapper ? [schema, ...unwrapped(schema.unwrap() as z.ZodType)] : [schema];
}

// Schemas of values. The message of each is what an error says after "expected".

export const text = (): z.ZodString => z.string("text");

export const flag = (): z.ZodBoolean => z.boolean("true or false");

/** The path of a file or a folder. */
export const path = (): z.ZodString =>
  z
    .string("a path as text")
    .min(1, "a path that is not empty")
    .refine((given) => !given.includes("\0"), "a path without a zero character");

/** A whole number from `minimum` on, or to `maximum`. */
export function integer(minimum: number, maximum?: number): z.ZodInt {
  const end = maximum === undefined ? "on" : `to ${maximum}`;
  const expected = `a whole number from ${minimum} ${end}`;
  const schema = z.int(expected).gte(minimum, expected);
  return maximum === undefined ? schema : schema.lte(maximum, expected);
}

/** A number in a range: `from` and `to` belong to it, `above` and `below` do not. */
export function number(range: {
  readonly from?: number;
  readonly above?: number;
  readonly to?: number;
  readonly below?: number;
}): z.ZodNumber {
  const { from = -Infinity, above = -Infinity, to = Infinity, below = Infinity } = range;
  const end =
    range.to !== undefined ? ` to ${to}` : range.below !== undefined ? ` to below ${below}` : "";
  const start = range.above !== undefined ? `above ${above}` : `from ${from}${end ? "" : " on"}`;
  const expected = `a number ${start}${end}`;
  return z
    .number(expected)
    .gte(from, expected)
    .gt(above, expected)
    .lte(to, expected)
    .lt(below, expected);
}

/** One of some words. */
export const choice = <const Words extends readonly [string, ...string[]]>(
  ...words: Words
): z.ZodEnum<{ [Word in Words[number]]: Word }> => z.enum(words, words.join(", "));

/** A function. It has no flag. */
export const callback = <Call extends (...values: never[]) => void>(): z.ZodOptional<
  z.ZodType<Call, Call>
> => z.custom<Call>((given) => typeof given === "function", "a function").optional();

/** The option `signal`, which has no flag. */
export const SIGNAL = {
  /** Stops the work; the call then throws the reason of the signal. */
  signal: z.instanceof(AbortSignal, { error: "an AbortSignal" }).optional(),
};

// Types of tables. They map over `keyof` alone, which keeps the JSDoc of each option.

type OptionalName<Table extends OptionTable> = {
  [Name in keyof Table]: undefined extends z.input<Table[Name]> ? Name : never;
}[keyof Table];

type UndefinedName<Table extends OptionTable> = {
  [Name in keyof Table]: undefined extends z.output<Table[Name]> ? Name : never;
}[keyof Table];

type Required<Table extends OptionTable, Optional extends keyof Table> = {
  readonly [Name in keyof Omitted<Table, Optional>]: z.output<Table[Name]>;
};
type Omitted<Table, Optional extends keyof Table> = Pick<Table, Exclude<keyof Table, Optional>>;

/**
 * What the caller gives: options with a default can be left out.
 *
 * The declaration of a table loses the comments of what is spread into it from other files. So an
 * interface of options extends the parts first, and then the table: `scripts/check-doc-comments.ts`
 * finds an option that an editor shows without its comment.
 */
export type Given<Table extends OptionTable> = Required<Table, OptionalName<Table>> & {
  readonly [Name in keyof Pick<Table, OptionalName<Table>>]?: z.input<Table[Name]> | undefined;
};

/** Options with their defaults filled in. */
export type Resolved<Table extends OptionTable> = Required<Table, UndefinedName<Table>> & {
  readonly [Name in keyof Pick<Table, UndefinedName<Table>>]?: z.output<Table[Name]> | undefined;
};

/** The values of the options of a table, among others. */
export const valuesOf = <Table extends OptionTable, Values extends object>(
  table: Table,
  values: Values,
): Pick<Values, keyof Values & keyof Table> =>
  Object.fromEntries(
    Object.keys(table).map((name) => [name, values[name as keyof Values]]),
  ) as Pick<Values, keyof Values & keyof Table>;
