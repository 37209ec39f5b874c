/**
 * A condition on metadata (where/where.ts) in SQL. The metadata are JSON, so a comparison looks at
 * the type of a value before it casts it.
 */

import type { Comparison, Where, WhereValue } from "../../../where/where.ts";

/** The column as PostgreSQL compares it; the index of tables.ts has the same expression. */
export const FIELDS = "(metadata::jsonb)";

/** Takes a value and returns its place in the statement, such as `$3`. */
export type Bind = (value: unknown) => string;

/** SQL that is true for the rows that pass. */
export function conditionSql(where: Where, bind: Bind): string {
  const parts = Object.entries(where).flatMap(([name, inner]) => {
    if (inner === undefined) return [];
    if (name === "not") return [`NOT ${conditionSql(inner as Where, bind)}`];
    if (name === "and" || name === "or") {
      const some = (inner as readonly Where[]).map((each) => conditionSql(each, bind));
      return [joined(some, name === "and")];
    }
    const comparisons: Comparison =
      typeof inner === "object" ? (inner as Comparison) : { eq: inner };
    return Object.entries(comparisons)
      .filter(([, operand]) => operand !== undefined)
      .map(([operator, operand]) =>
        comparisonSql(fieldOf(name, bind), operator as keyof Comparison, operand, bind),
      );
  });
  return joined(parts, true);
}

const joined = (parts: readonly string[], all: boolean): string =>
  parts.length === 0 ? String(all) : `(${parts.join(all ? " AND " : " OR ")})`;

/** A field of a row. */
interface Field {
  /** As jsonb; NULL if the row has none. */
  value(): string;
  /** Its text or number; NULL if the row has none. */
  text(): string;
  /** SQL that is true if the value is equal, or a list has it. */
  equals(operand: WhereValue): string;
}

function fieldOf(name: string, bind: Bind): Field {
  if (name === "document")
    return {
      value: () => "to_jsonb(document)",
      text: () => "document",
      equals: (operand) =>
        typeof operand === "string" ? `(document IS NOT DISTINCT FROM ${bind(operand)})` : "false",
    };
  const has = (value: WhereValue | readonly WhereValue[]) =>
    `${FIELDS} @> ${bind(JSON.stringify({ [name]: value }))}::jsonb`;
  return {
    value: () => `(${FIELDS} -> ${bind(name)}::text)`,
    text: () => `(${FIELDS} ->> ${bind(name)}::text)`,
    equals: (operand) => `(${has(operand)} OR ${has([operand])})`,
  };
}

const ORDER = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function comparisonSql(
  field: Field,
  operator: keyof Comparison,
  operand: NonNullable<Comparison[keyof Comparison]>,
  bind: Bind,
): string {
  switch (operator) {
    case "eq":
      return field.equals(operand as WhereValue);
    case "ne":
      return `NOT ${field.equals(operand as WhereValue)}`;
    case "in":
      return joined((operand as readonly WhereValue[]).map(field.equals), false);
    case "exists":
      return `(${field.value()} IS ${operand ? "NOT NULL" : "NULL"})`;
    case "contains": {
      const part = `position(${bind(operand)}::text in ${field.text()}) > 0`;
      return `(CASE jsonb_typeof(${field.value()}) WHEN 'string' THEN ${part} WHEN 'array' THEN ${field.equals(operand as string)} ELSE false END)`;
    }
    default:
      return orderSql(field, ORDER[operator], operand as string | number, bind);
  }
}

/** Texts are compared by their UTF-8 bytes. */
function orderSql(
  { value, text }: Field,
  sign: string,
  operand: string | number,
  bind: Bind,
): string {
  const [type, compared] =
    typeof operand === "number"
      ? ["number", `(${text()})::numeric ${sign} ${bind(operand)}::numeric`]
      : ["string", `(${text()}) COLLATE "C" ${sign} ${bind(operand)}::text`];
  return `(CASE jsonb_typeof(${value()}) WHEN '${type}' THEN ${compared} ELSE false END)`;
}
