/** What the tokenizers of T5 and BERT check of their arguments. */

import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";

/** @throws {InputError} unless they are a text and a number */
export function checkTextAndLimit(text: unknown, limit: unknown): void {
  if (typeof text !== "string") throw wrongType("text", "text", text);
  if (typeof limit !== "number") throw wrongType("limit", "a number", limit);
}

/** The ids as a list. @throws {InputError} unless they are a list of whole numbers */
export function idList(ids: unknown): number[] {
  if (!isIterable(ids)) throw wrongType("ids", "a list of ids", ids);
  return Array.from(ids, (id) => {
    if (!Number.isInteger(id)) throw wrongType("ids", "whole numbers", id);
    return id as number;
  });
}

const isIterable = (given: unknown): given is Iterable<unknown> =>
  typeof (given as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] === "function" &&
  typeof given === "object";

const wrongType = (where: string, expected: string, given: unknown): InputError =>
  new InputError({ where, expected, got: excerpt(given), remedy: `give ${expected}` });
