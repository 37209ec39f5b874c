/**
 * A condition on metadata (where/where.ts) in SQL. The metadata are JSON, so a comparison looks at
 * the type of a value before it casts it.
 */

import { composed, DATE_PATTERN, type TimeSpan, timeSpan } from "../../../where/values.ts";
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
  /** SQL that is true if the value is equal in its bytes, or a list has it. */
  has(operand: WhereValue): string;
}

function fieldOf(name: string, bind: Bind): Field {
  if (name === "document")
    return {
      value: () => "to_jsonb(document)",
      has: (operand) =>
        typeof operand === "string" ? `(document IS NOT DISTINCT FROM ${bind(operand)})` : "false",
    };
  const has = (value: WhereValue | readonly WhereValue[]) =>
    `${FIELDS} @> ${bind(JSON.stringify({ [name]: value }))}::jsonb`;
  return {
    value: () => `(${FIELDS} -> ${bind(name)}::text)`,
    has: (operand) => `(${has(operand)} OR ${has([operand])})`,
  };
}

const ORDER = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function comparisonSql(
  field: Field,
  operator: keyof Comparison,
  operand: NonNullable<Comparison[keyof Comparison]>,
  bind: Bind,
): string {
  switch (operator) {
    case "eq":
      return equalSql(field, operand as WhereValue, bind);
    case "ne":
      return `NOT ${equalSql(field, operand as WhereValue, bind)}`;
    case "in": {
      const each = (operand as readonly WhereValue[]).map((one) => equalSql(field, one, bind));
      return joined(each, false);
    }
    case "exists":
      return `(${field.value()} IS ${operand ? "NOT NULL" : "NULL"})`;
    case "contains": {
      const text = `normalize(${field.value()} #>> '{}')`;
      const part = `position(${bind(composed(operand as string))}::text in ${text}) > 0`;
      const equal = equalSql(field, operand as string, bind);
      return `(CASE jsonb_typeof(${field.value()}) WHEN 'string' THEN ${part} WHEN 'array' THEN ${equal} ELSE false END)`;
    }
    default:
      return orderSql(field, operator, operand as string | number, bind);
  }
}

/** What is equal in its bytes is found by the index, unless its form says little. */
function equalSql(field: Field, operand: WhereValue, bind: Bind): string {
  const isPlain = typeof operand !== "string" || (isAscii(operand) && !timeSpan(operand));
  return isPlain ? field.has(operand) : orderSql(field, "eq", operand, bind);
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Whether a value, or one of a list, has this order. Texts are compared by their UTF-8 bytes. */
function orderSql(
  { value }: Field,
  operator: keyof typeof ORDER,
  operand: string | number,
  bind: Bind,
): string {
  const text = "(item #>> '{}')";
  const span = timeSpan(operand);
  const [type, compared] = span
    ? ["string", timeSql(text, operator, span, bind)]
    : typeof operand === "number"
      ? ["number", `${text}::numeric ${ORDER[operator]} ${bind(operand)}::numeric`]
      : [
          "string",
          `normalize(${text}) COLLATE "C" ${ORDER[operator]} ${bind(composed(operand))}::text`,
        ];
  const items = `jsonb_array_elements(CASE jsonb_typeof(${value()}) WHEN 'array' THEN ${value()} ELSE jsonb_build_array(${value()}) END)`;
  return `EXISTS (SELECT FROM ${items} AS item WHERE CASE jsonb_typeof(item) WHEN '${type}' THEN ${compared} ELSE false END)`;
}

/**
 * The order of a date and a span of time. `regexp_match` takes the date apart as `timeSpan` does:
 * year, month, day, hour, minute, second, fraction, zone. Other texts have no order.
 */
function timeSql(
  text: string,
  operator: keyof typeof ORDER,
  { start, end }: TimeSpan,
  bind: Bind,
): string {
  const time = `(SELECT (make_date(d[1]::int, d[2]::int, 1) + coalesce(d[3]::int - 1, 0))
    + make_interval(hours => coalesce(d[4], '0')::int, mins => coalesce(d[5], '0')::int)
    + (coalesce(d[6], '0') || '.' || left(coalesce(d[7], '0'), 6))::float8 * interval '1 second'
    - (CASE WHEN d[8] IS NULL OR d[8] = 'Z' THEN '+00:00' ELSE left(d[8], 3) || ':' || right(d[8], 2) END)::interval
    FROM regexp_match(${text}, ${bind(DATE_PATTERN)}) AS d)`;
  const at = (microseconds: number): string =>
    `(timestamp '1970-01-01' + ${bind(microseconds)}::float8 * interval '1 microsecond')`;
  const found = {
    eq: () => `(${time} >= ${at(start)} AND ${time} < ${at(end)})`,
    gt: () => `${time} >= ${at(end)}`,
    gte: () => `${time} >= ${at(start)}`,
    lt: () => `${time} < ${at(start)}`,
    lte: () => `${time} < ${at(end)}`,
  }[operator]();
  return `coalesce(${found}, false)`;
}
