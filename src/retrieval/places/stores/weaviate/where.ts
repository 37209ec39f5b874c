/**
 * A condition on metadata (where/where.ts) as a filter of Weaviate. A filter cannot say everything
 * that a condition does. So it takes too many passages, and inside of `not` too few.
 */

import type { FilterValue } from "weaviate-client";
import { timeSpan } from "../../../where/values.ts";
import type { Comparison, Where, WhereValue } from "../../../where/where.ts";
import type { Weaviate } from "./cluster.ts";
import { fieldEntry, type OrderedType, orderedField, orderedText } from "./schema.ts";

/** A filter; or all passages pass, or none does. */
export type Filter = FilterValue | boolean;

/** Which passages a filter takes: all that pass and maybe others, or some of those that pass. */
type Takes = "at least" | "at most";

interface Translation {
  readonly weaviate: Weaviate;
  /** The properties of the collection: without that of a field, no passage has the field. */
  readonly known: ReadonlySet<string>;
}

/** A filter that takes all passages that pass. */
export const whereFilter = (translation: Translation, where: Where): Filter =>
  conditionFilter(translation, where, "at least");

function conditionFilter(translation: Translation, where: Where, takes: Takes): Filter {
  const { weaviate } = translation;
  const filters = Object.entries(where).flatMap(([name, inner]): Filter[] => {
    if (inner === undefined) return [];
    if (name === "not") {
      const other = takes === "at least" ? "at most" : "at least";
      return [not(weaviate, conditionFilter(translation, inner as Where, other))];
    }
    if (name === "and" || name === "or") {
      const each = (inner as readonly Where[]).map((one) =>
        conditionFilter(translation, one, takes),
      );
      return [(name === "and" ? all : some)(weaviate, each)];
    }
    const comparisons = typeof inner === "object" ? (inner as Comparison) : { eq: inner };
    return Object.entries(comparisons)
      .filter(([, operand]) => operand !== undefined)
      .map(([operator, operand]) =>
        comparisonFilter(translation, name, operator as keyof Comparison, operand, takes),
      );
  });
  return all(weaviate, filters);
}

function comparisonFilter(
  translation: Translation,
  name: string,
  operator: keyof Comparison,
  operand: NonNullable<Comparison[keyof Comparison]>,
  takes: Takes,
): Filter {
  const { weaviate } = translation;
  const has = (value?: WhereValue): FilterValue =>
    weaviate.default.filter.byProperty("fields").equal(fieldEntry(name, value));
  switch (operator) {
    case "eq":
      return equalFilter(translation, name, operand as WhereValue, takes);
    case "ne": {
      const other = takes === "at least" ? "at most" : "at least";
      return not(weaviate, equalFilter(translation, name, operand as WhereValue, other));
    }
    case "in": {
      const each = (operand as readonly WhereValue[]).map((one) =>
        equalFilter(translation, name, one, takes),
      );
      return some(weaviate, each);
    }
    case "exists":
      return operand ? has() : not(weaviate, has());
    case "contains": // a part of a text is not indexed
      return takes === "at least" ? has() : false;
    default:
      return orderFilter(translation, name, operator, operand as string | number, takes);
  }
}

/** A value is equal by its entry, a date by its time. */
function equalFilter(
  translation: Translation,
  name: string,
  operand: WhereValue,
  takes: Takes,
): Filter {
  const { weaviate } = translation;
  const span = timeSpan(operand);
  if (!span) return weaviate.default.filter.byProperty("fields").equal(fieldEntry(name, operand));
  const { from, before } = boundsOf(translation, name, "date");
  const greatest = all(weaviate, [from(span.start), before(span.end)]);
  if (takes === "at most") return greatest; // of a list, others are unknown
  return some(weaviate, [greatest, all(weaviate, [from(span.start), before(span.end, "least")])]);
}

/** Texts are compared by their beginnings: between equal ones the order is unknown. */
function orderFilter(
  translation: Translation,
  name: string,
  operator: "gt" | "gte" | "lt" | "lte",
  operand: string | number,
  takes: Takes,
): Filter {
  const { weaviate } = translation;
  const either = (filterOf: (of: "least" | "greatest") => Filter): Filter =>
    some(weaviate, [filterOf("greatest"), filterOf("least")]);
  const span = timeSpan(operand);
  if (span) {
    const { from, before } = boundsOf(translation, name, "date");
    if (operator.startsWith("g")) return from(operator === "gt" ? span.end : span.start);
    return either((of) => before(operator === "lt" ? span.start : span.end, of));
  }
  const isNumber = typeof operand === "number";
  const { from, above, upTo, before } = boundsOf(translation, name, isNumber ? "number" : "text");
  const value = isNumber ? operand : orderedText(operand);
  const takesEqual = isNumber ? operator.endsWith("e") : takes === "at least";
  if (operator.startsWith("g")) return (takesEqual ? from : above)(value);
  return either((of) => (takesEqual ? upTo : before)(value, of));
}

/**
 * Filters by the greatest value of a field, or by the least one of a list. No passage passes if the
 * collection does not have the property.
 */
function boundsOf({ weaviate, known }: Translation, name: string, type: OrderedType) {
  type Compare = "greaterOrEqual" | "greaterThan" | "lessOrEqual" | "lessThan";
  const bound =
    (compare: Compare) =>
    (value: number | string, of: "greatest" | "least" = "greatest"): Filter => {
      const field = orderedField(name, type, of);
      if (!known.has(field)) return false;
      return weaviate.default.filter.byProperty(field)[compare](value as number); // as it is typed
    };
  return {
    from: bound("greaterOrEqual"),
    above: bound("greaterThan"),
    upTo: bound("lessOrEqual"),
    before: bound("lessThan"),
  };
}

const not = ({ Filters }: Weaviate, filter: Filter): Filter =>
  typeof filter === "boolean" ? !filter : Filters.not(filter);

export function all({ Filters }: Weaviate, filters: readonly Filter[]): Filter {
  if (filters.includes(false)) return false;
  const parts = filters.filter((filter) => typeof filter !== "boolean");
  return parts.length > 1 ? Filters.and(...parts) : (parts[0] ?? true);
}

function some({ Filters }: Weaviate, filters: readonly Filter[]): Filter {
  if (filters.includes(true)) return true;
  const parts = filters.filter((filter) => typeof filter !== "boolean");
  return parts.length > 1 ? Filters.or(...parts) : (parts[0] ?? false);
}
