/** Checks data that callers of the library give: predictions, qrels, outcomes, calibrations. */

import type { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";

/**
 * @param schema whose messages say what is expected
 * @param where the name of the data in errors
 * @throws {InputError} for the first value that does not fit, with its place
 */
export function checkData(
  schema: z.ZodType,
  given: unknown,
  { where, remedy }: { readonly where: string; readonly remedy: string },
): void {
  const { error } = schema.safeParse(given);
  if (!error) return;
  const { path, message: expected } = error.issues[0]!;
  let [place, value] = [where, given];
  for (const key of path)
    if (value instanceof Map) [place, value] = [`${place}.get(${excerpt(key)})`, value.get(key)];
    else {
      place += typeof key === "number" ? `[${key}]` : `.${String(key)}`;
      value = (value as Readonly<Record<PropertyKey, unknown>>)[key];
    }
  const got = value === undefined ? "nothing" : excerpt(value);
  throw new InputError({ where: place, expected, got, remedy });
}
