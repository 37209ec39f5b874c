/** Checks the options that a caller of the library gives, and fills in the defaults. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import type { Given, OptionTable, Resolved } from "./option.ts";

/**
 * @param table all options that are accepted
 * @throws {InputError} for an unknown name, a missing option and a value out of range
 */
export function resolveOptions<Table extends OptionTable>(
  table: Table,
  given: Given<Table>,
): Resolved<Table> {
  const defined = Object.entries(given).filter(([, value]) => value !== undefined);
  const unknown = defined.find(([name]) => !Object.hasOwn(table, name));
  if (unknown)
    throw new InputError({
      where: "options",
      expected: `names among ${Object.keys(table).join(", ")}`,
      got: `"${unknown[0]}"`,
      remedy: "correct the name or remove the option",
    });
  const values = Object.fromEntries(defined);
  const result = z.object(table).safeParse(values);
  if (result.success) return result.data as Resolved<Table>;
  const { path, message } = result.error.issues[0]!;
  const name = String(path[0]);
  throw new InputError({
    where: path.join("."),
    expected: message,
    got: name in values ? shown(values[name]) : "nothing",
    remedy: "give another value",
  });
}

const shown = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);
