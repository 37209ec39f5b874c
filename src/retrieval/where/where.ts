/**
 * Conditions on the metadata of passages: their form, and whether a passage passes one.
 *
 *     { year: { gte: 2020 }, lang: "en" }                     both
 *     { or: [{ tags: { contains: "x" } }, { not: { lang: "en" } }] }
 *
 * A condition passes or does not; there is no third value. A comparison passes only if the passage
 * has the field and both values are of the same type. So a passage without the field passes `ne`
 * and `not`, which are the opposite of `eq` and of the condition inside. A list passes a comparison
 * if one of its values does.
 *
 * A date is a span of time (values.ts): 10:00 of a day is equal to the day, neither before nor
 * after it, and a time with a zone is compared with one of another zone.
 */

import { z } from "zod";
import type { MetadataItem, MetadataValue } from "../../text/passage.ts";
import type { PassageFields } from "../index/format/packed-passage.ts";
import { composed, timeSpan } from "./values.ts";

/** A value to compare with. */
export type WhereValue = string | number | boolean;

/** Comparisons with a field; all of them must pass. */
export interface Comparison {
  /** The value is equal: texts in NFC, a time in a day that is given. */
  readonly eq?: WhereValue | undefined;
  /** The opposite of `eq`. */
  readonly ne?: WhereValue | undefined;
  /** The value is equal to one of these. */
  readonly in?: readonly WhereValue[] | undefined;
  /** A text has this part, or a list has this text. */
  readonly contains?: string | undefined;
  /**
   * Above this value. Numbers are compared by value, dates in ISO 8601 by time, other texts by
   * their UTF-16 code units in NFC. A date is compared with dates.
   */
  readonly gt?: string | number | undefined;
  /** At least this value. */
  readonly gte?: string | number | undefined;
  /** Below this value. */
  readonly lt?: string | number | undefined;
  /** At most this value. */
  readonly lte?: string | number | undefined;
  /** Whether the passage has the field. */
  readonly exists?: boolean | undefined;
}

/**
 * A condition on the metadata of a passage. Each name is a field, with a value that it must be
 * equal to or with comparisons. `document` is the document id of the passage. `and`, `or` and `not`
 * combine conditions; fields of these names cannot be compared. All entries must pass.
 *
 * @example
 * ```ts
 * import type { Where } from "reatt";
 *
 * const where: Where = { year: { gte: 2020 }, or: [{ lang: "en" }, { tags: { contains: "x" } }] };
 * console.log(Object.keys(where)); // [ 'year', 'or' ]
 * ```
 */
export type Where = {
  /** Conditions that must all pass. */
  readonly and?: readonly Where[];
  /** Conditions of which one must pass. */
  readonly or?: readonly Where[];
  /** A condition that must not pass. */
  readonly not?: Where;
} & { readonly [field: string]: WhereValue | Comparison | Where | readonly Where[] | undefined };

/** Conditions inside conditions. */
export const MAX_WHERE_DEPTH = 32;

const value = z.union([z.string(), z.number(), z.boolean()], "text, a number, true or false");
const ordered = z.union([z.string(), z.number()], "text or a number");
const comparison = z.strictObject({
  eq: value.optional(),
  ne: value.optional(),
  in: z.array(value, "a list of values").optional(),
  contains: z.string("text").optional(),
  gt: ordered.optional(),
  gte: ordered.optional(),
  lt: ordered.optional(),
  lte: ordered.optional(),
  exists: z.boolean("true or false").optional(),
});

const EXPECTED = "an object of conditions, such as { year: { gte: 2020 } }";

/** The schema of a condition. It reports one line for what is wrong first. */
export const whereSchema: z.ZodType<Where, Where> = z
  .custom<Where>()
  .superRefine((condition, context) => {
    const problem = problemOf(condition, MAX_WHERE_DEPTH);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

/** What is wrong with a condition; undefined if nothing is. */
function problemOf(condition: unknown, depth: number): string | undefined {
  if (!isPlainObject(condition)) return EXPECTED;
  if (depth === 0) return `at most ${MAX_WHERE_DEPTH} conditions inside each other`;
  for (const [name, inner] of Object.entries(condition)) {
    const problem = entryProblem(name, inner, depth);
    if (problem) return problem;
  }
  return undefined;
}

function entryProblem(name: string, condition: unknown, depth: number): string | undefined {
  if (name === "not") return problemOf(condition, depth - 1);
  if (name === "and" || name === "or") {
    if (!Array.isArray(condition)) return `a list of conditions as "${name}"`;
    return condition.map((inner) => problemOf(inner, depth - 1)).find(Boolean);
  }
  if (value.safeParse(condition).success) return undefined;
  if (!isPlainObject(condition)) return `a value or comparisons for the field "${name}"`;
  const issue = comparison.safeParse(condition).error?.issues[0];
  if (!issue) return undefined;
  const names = Object.keys(comparison.shape).join(", ");
  return issue.code === "unrecognized_keys"
    ? `comparisons among ${names} for the field "${name}"`
    : `${issue.message} as "${name}.${issue.path.join(".")}"`;
}

function isPlainObject(condition: unknown): condition is Readonly<Record<string, unknown>> {
  if (typeof condition !== "object" || condition === null) return false;
  const prototype = Object.getPrototypeOf(condition);
  return prototype === Object.prototype || prototype === null;
}

/** Whether a passage with these fields passes `where`. */
export function passes(where: Where, fields: PassageFields): boolean {
  return Object.entries(where).every(([name, inner]) => {
    if (inner === undefined) return true;
    if (name === "and") return (inner as readonly Where[]).every((each) => passes(each, fields));
    if (name === "or") return (inner as readonly Where[]).some((each) => passes(each, fields));
    if (name === "not") return !passes(inner as Where, fields);
    const comparisons = typeof inner === "object" ? (inner as Comparison) : { eq: inner };
    const found = fieldOf(name, fields);
    return Object.entries(comparisons).every(
      ([operator, operand]) =>
        operand === undefined || COMPARE[operator as keyof Comparison](found, operand as never),
    );
  });
}

function fieldOf(name: string, { document, metadata }: PassageFields): MetadataValue | undefined {
  if (name === "document") return document;
  return metadata && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}

type Found = MetadataValue | undefined;

/**
 * Whether a value, or one of a list, is below (-1), equal to (0) or above (1) the operand, as
 * `accept` says.
 */
const compares = (found: Found, operand: WhereValue, accept: (order: number) => boolean): boolean =>
  (typeof found === "object" ? found : [found]).some((item) => {
    const order = item === undefined ? undefined : orderOf(item, operand);
    return order !== undefined && accept(order);
  });

/** -1, 0 or 1; undefined for values of different types. */
function orderOf(item: MetadataItem, operand: WhereValue): number | undefined {
  const span = timeSpan(operand);
  if (span) {
    const start = timeSpan(item)?.start;
    if (start === undefined) return undefined;
    return start < span.start ? -1 : Number(start >= span.end);
  }
  if (typeof item !== typeof operand) return undefined;
  const [one, other] = [composed(item), composed(operand)];
  return one === other ? 0 : one < other ? -1 : 1;
}

const isEqual = (found: Found, operand: WhereValue): boolean =>
  compares(found, operand, (order) => order === 0);

const COMPARE: {
  readonly [Name in keyof Comparison]-?: (
    found: Found,
    operand: NonNullable<Comparison[Name]>,
  ) => boolean;
} = {
  eq: isEqual,
  ne: (found, operand) => !isEqual(found, operand),
  in: (found, operands) => operands.some((operand) => isEqual(found, operand)),
  contains: (found, operand) =>
    typeof found === "string"
      ? composed(found).includes(composed(operand))
      : isEqual(found, operand),
  gt: (found, operand) => compares(found, operand, (order) => order > 0),
  gte: (found, operand) => compares(found, operand, (order) => order >= 0),
  lt: (found, operand) => compares(found, operand, (order) => order < 0),
  lte: (found, operand) => compares(found, operand, (order) => order <= 0),
  exists: (found, operand) => (found !== undefined) === operand,
};
