/** The fields of the passages of an index, for conditions that no passage can pass. */

import { InputError } from "../../io/errors.ts";
import { closestName } from "../../options/closest-name.ts";
import type { PassageFields } from "../index/format/packed-passage.ts";
import { timeSpan } from "./values.ts";
import type { Comparison, Where, WhereValue } from "./where.ts";

type FieldType = "text" | "date" | "number" | "true or false" | "list";
type ValueType = Exclude<FieldType, "list" | "date">;

/** Names that are kept in memory, besides those of the condition. */
const MAX_NAMES = 1_000;
/** Fields that a message lists. */
const LISTED = 40;

/** The types of the values of each field. The values of a list count for the list. */
export class FieldTypes {
  readonly #compared: readonly ComparedField[];
  readonly #types = new Map<string, Set<FieldType>>();
  readonly #items = new Map<string, Set<ValueType>>();

  constructor(where: Where) {
    this.#compared = [...comparedFields(where)];
  }

  /** The fields of the condition. */
  get names(): string[] {
    return this.#compared.map(({ name }) => name);
  }

  add({ metadata = {} }: PassageFields): void {
    for (const [name, value] of Object.entries(metadata)) {
      const isKnown = this.#types.has(name) || this.#compared.some((one) => one.name === name);
      if (!isKnown && this.#types.size >= MAX_NAMES) continue;
      const isList = typeof value === "object";
      const items = isList ? value : [value];
      setOf(this.#types, name).add(isList ? "list" : typeOf(items[0]!));
      for (const item of items) setOf(this.#items, name).add(valueType(item));
    }
  }

  /** @throws {InputError} if a field of the condition is unknown, or has only other types */
  check(): void {
    for (const { name, type } of this.#compared) {
      if (name === "document") continue;
      const types = this.#items.get(name);
      if (!types) throw this.#unknownField(name);
      if (!types.has(type)) throw this.#otherType(name, type);
    }
  }

  #unknownField(name: string): InputError {
    const similar = closestName(name, [...this.#types.keys()]);
    return new InputError({
      code: "ERR_REATT_BAD_CONDITION",
      where: "where",
      expected: this.#list(),
      got: JSON.stringify(name),
      remedy: similar ? `did you mean ${similar}?` : "name a field of the passages",
    });
  }

  #otherType(name: string, type: ValueType): InputError {
    return new InputError({
      code: "ERR_REATT_BAD_CONDITION",
      where: "where",
      expected: `${name} to be compared with its own type; ${this.#list()}`,
      got: type === "text" ? "text in quotes" : type === "number" ? "a number" : type,
      remedy: "write texts in quotes, numbers and dates without",
    });
  }

  #list(): string {
    const all = [...this.#types].sort(([a], [b]) => (a < b ? -1 : 1));
    if (all.length === 0) return "passages with metadata, and there is none";
    const listed = all
      .slice(0, LISTED)
      .map(([name, types]) => `${name} (${[...types].join(", ")})`);
    const more = all.length > LISTED ? ` and ${all.length - LISTED} more` : "";
    return `a field of the passages: ${listed.join(", ")}${more}`;
  }
}

function setOf<T>(sets: Map<string, Set<T>>, name: string): Set<T> {
  const set = sets.get(name) ?? new Set<T>();
  sets.set(name, set);
  return set;
}

function valueType(value: WhereValue): ValueType {
  if (typeof value === "boolean") return "true or false";
  return typeof value === "number" ? "number" : "text";
}

const typeOf = (value: WhereValue): FieldType => (timeSpan(value) ? "date" : valueType(value));

/** A field that a condition compares, and the type of what it compares it with. */
interface ComparedField {
  readonly name: string;
  readonly type: ValueType;
}

function* comparedFields(where: Where): Generator<ComparedField> {
  for (const [name, inner] of Object.entries(where)) {
    if (inner === undefined) continue;
    if (name === "and" || name === "or")
      for (const each of inner as readonly Where[]) yield* comparedFields(each);
    else if (name === "not") yield* comparedFields(inner as Where);
    else {
      const comparisons = typeof inner === "object" ? (inner as Comparison) : { eq: inner };
      for (const [operator, operand] of Object.entries(comparisons))
        if (operator === "in")
          for (const value of operand as readonly WhereValue[])
            yield { name, type: valueType(value) };
        else if (operand !== undefined && operator !== "exists")
          yield { name, type: valueType(operand as WhereValue) };
    }
  }
}
