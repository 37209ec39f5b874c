/** Options as text: their flags, their values on the command line and their lines in help. */

import { z } from "zod";
import { defaultOf, infoOf, isRequired, valueSchema } from "../../options/option.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Whether the flag has a value. */
export const takesValue = (schema: z.ZodType): boolean =>
  !(valueSchema(schema) instanceof z.ZodBoolean);

export function placeholderOf(schema: z.ZodType): string {
  const { placeholder } = infoOf(schema);
  const value = valueSchema(schema);
  if (placeholder !== undefined) return placeholder;
  if (value instanceof z.ZodEnum) return hasLongChoices(value) ? "NAME" : choicesOf(value);
  return value instanceof z.ZodNumber && value.isInt ? "N" : "X";
}

const choicesOf = (value: z.ZodEnum): string => value.options.join("|");

/** Long lists of choices would leave no room for the help text. */
const hasLongChoices = (value: z.ZodEnum): boolean => choicesOf(value).length > 25;

/** The help of an option with its default. */
export function describeOption(schema: z.ZodType): string {
  const { defaultText } = infoOf(schema);
  const inner = valueSchema(schema);
  const choices =
    inner instanceof z.ZodEnum && hasLongChoices(inner) ? `; NAME: ${choicesOf(inner)}` : "";
  const help = infoOf(schema).help + choices;
  if (isRequired(schema) && defaultText === undefined) return `${help} (required)`;
  const value = defaultOf(schema);
  const shown = defaultText ?? (value === false ? undefined : value);
  return shown === undefined ? help : `${help} (default: ${shown})`;
}

/**
 * The value of a flag.
 *
 * @throws {UsageError} if the text is not a value of the option
 */
export function readText(schema: z.ZodType, flag: string, text: string): unknown {
  const { parse = parserOf(schema) } = infoOf(schema);
  const result = schema.safeParse(parse(text));
  if (result.success) return result.data;
  throw new UsageError(`--${flag}: expected ${result.error.issues[0]!.message}, got "${text}"`);
}

/** Text that is not a number stays text, which the schema then rejects. */
function parserOf(schema: z.ZodType): (text: string) => unknown {
  const value = valueSchema(schema);
  if (!(value instanceof z.ZodNumber)) return (text) => text;
  if (value.isInt) return (text) => (/^\d+$/.test(text) ? Number(text) : text);
  return (text) => (text.trim() === "" ? text : Number(text));
}
