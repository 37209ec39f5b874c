/** Checks the options that a caller of the library gives, and fills in the defaults. */

import { z } from "zod";
import { InputError, type Problem } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { closestName } from "./closest-name.ts";
import type { Given, OptionTable, Resolved } from "./option.ts";

const CODE = "ERR_REATT_BAD_OPTION";

const objects = new WeakMap<OptionTable, z.ZodType>();

/** The schema of a table. zod compiles a schema once: a table is a constant of a module. */
function objectOf(table: OptionTable): z.ZodType {
  const known = objects.get(table);
  if (known) return known;
  const schema = z.strictObject(table);
  objects.set(table, schema);
  return schema;
}

/**
 * @param table all options that are accepted
 * @param where what the options are called in errors
 * @throws {InputError} for an unknown name, a missing option and a value out of range
 */
export function resolveOptions<Table extends OptionTable>(
  table: Table,
  given: Given<Table> | undefined,
  where = "options",
): Resolved<Table> {
  const problem = given === undefined ? undefined : objectProblem(given, table, where);
  if (problem) throw new InputError({ ...problem, code: CODE });
  const values = Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== undefined),
  );
  const result = objectOf(table).safeParse(values);
  if (result.success) return result.data as Resolved<Table>;
  throw new InputError({ ...problemOf(result.error.issues, table, values, where), code: CODE });
}

/**
 * What is wrong with some options, of which none is required: an unknown name, or a value out of
 * range. Undefined if nothing is.
 *
 * @param where what the options are called in the problem
 */
export function problemOfGiven(
  table: OptionTable,
  given: unknown,
  where: string,
): Problem | undefined {
  const result = z.strictObject(table).partial().safeParse(given);
  if (result.success) return undefined;
  const wrongType = objectProblem(given, table, where);
  if (wrongType) return wrongType;
  const problem = problemOf(result.error.issues, table, given as object, where);
  return problem.where === where ? problem : { ...problem, where: `${where}, ${problem.where}` };
}

const objectProblem = (given: unknown, table: OptionTable, where: string): Problem | undefined =>
  typeof given === "object" && given !== null && !Array.isArray(given)
    ? undefined
    : {
        where,
        expected: "an object",
        got: excerpt(given),
        remedy: `write { ${Object.keys(table)[0]}: ... }`,
      };

/** The issue inside a union that says most: not that another type was given. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const specific = issue.errors.flat().filter(isSpecific);
  const inner = specific.find(({ code }) => code === "unrecognized_keys") ?? specific[0];
  return inner ? innermost({ ...inner, path: [...issue.path, ...inner.path] }) : issue;
}

const isSpecific = ({ code, path, message }: z.core.$ZodIssue): boolean =>
  path.length > 0 ||
  code === "unrecognized_keys" ||
  (code === "custom" && message !== "Invalid input");

/** An unknown name is reported first: the missing option may be the one that is misspelt. */
function problemOf(
  issues: readonly z.core.$ZodIssue[],
  table: OptionTable,
  values: object,
  where: string,
): Problem {
  const all = issues.map(innermost);
  const unknown = all.find((issue) => issue.code === "unrecognized_keys");
  if (unknown) return unknownName(unknown.keys[0]!, unknown.path, table, where);
  const { path, message } = all[0]!;
  const value = path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    values,
  );
  return {
    where: path.join("."),
    expected: message,
    got: value === undefined ? "nothing" : excerpt(value),
    remedy: value === undefined ? "add it" : "give another value",
  };
}

function unknownName(
  given: string,
  path: readonly PropertyKey[],
  table: OptionTable,
  where: string,
): Problem {
  const names = namesAt(path, table);
  const meant = closestName(given, names);
  return {
    where: path.length === 0 ? where : path.join("."),
    expected: `names among ${names.join(", ")}`,
    got: `"${given}"`,
    remedy: meant ? `did you mean "${meant}"?` : "correct the name or remove the option",
  };
}

const isObjectSchema = (schema: unknown): schema is z.ZodObject => schema instanceof z.ZodObject;

/** The names of the table, or of an option that is an object. */
function namesAt([name]: readonly PropertyKey[], table: OptionTable): string[] {
  if (name === undefined) return Object.keys(table);
  const option = table[String(name)];
  const inner = option instanceof z.ZodOptional ? option.unwrap() : option;
  const object = inner instanceof z.ZodUnion ? inner.options.find(isObjectSchema) : inner;
  return isObjectSchema(object) ? Object.keys(object.shape) : [];
}
