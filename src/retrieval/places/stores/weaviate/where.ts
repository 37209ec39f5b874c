/**
 * A condition on metadata (where/where.ts) as a filter of Weaviate. A filter cannot say everything
 * that a condition does. So it takes too many passages, and inside of `not` too few.
 */

import type { FilterValue } from "weaviate-client";
import type { Comparison, Where, WhereValue } from "../../../where/where.ts";
import type { Weaviate } from "./cluster.ts";
import { fieldEntry, orderedField, orderedText } from "./schema.ts";

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
      return has(operand as WhereValue);
    case "ne":
      return not(weaviate, has(operand as WhereValue));
    case "in":
      return some(weaviate, (operand as readonly WhereValue[]).map(has));
    case "exists":
      return operand ? has() : not(weaviate, has());
    case "contains": // a part of a text is not indexed
      return takes === "at least" ? has() : false;
    default:
      return orderFilter(translation, name, operator, operand as string | number, takes);
  }
}

/** Texts are compared by their beginnings: between equal ones the order is unknown. */
function orderFilter(
  { weaviate, known }: Translation,
  name: string,
  operator: "gt" | "gte" | "lt" | "lte",
  operand: string | number,
  takes: Takes,
): Filter {
  const isNumber = typeof operand === "number";
  const field = orderedField(name, isNumber ? "number" : "text");
  if (!known.has(field)) return false;
  const property = weaviate.default.filter.byProperty(field);
  const value = (isNumber ? operand : orderedText(operand)) as number; // as the client types it
  const takesEqual = isNumber ? operator.endsWith("e") : takes === "at least";
  if (operator.startsWith("g"))
    return takesEqual ? property.greaterOrEqual(value) : property.greaterThan(value);
  return takesEqual ? property.lessOrEqual(value) : property.lessThan(value);
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
