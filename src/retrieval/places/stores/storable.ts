/** Texts that every store keeps as they are. */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Described } from "./store-errors.ts";

/** What is expected of texts. */
export const STORABLE_TEXTS = "texts of Unicode without the character U+0000, as stores keep them";

/** What an error says of passages with other texts. */
export const UNSTORABLE: Described = {
  expected: STORABLE_TEXTS,
  remedy: "remove such characters from the passages",
};

/** Whether a text has neither a character 0 nor half of a surrogate pair. */
export const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text);

/** The first name or text inside a value that is not storable. */
export function unstorableText(value: object): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (name, inner: unknown) => {
    for (const text of [name, inner])
      if (typeof text === "string" && !isStorable(text)) found ??= text;
    return inner;
  });
  return found;
}

/** Of an id or a document in UTF-8. A key of an index of PostgreSQL has at most 2,704 bytes. */
const MAX_KEY_BYTES = 2_600;

/** @throws {InputError} for a passage that a store does not keep */
export function checkStorable(
  { id, title, text, document = "", metadata = {} }: Passage,
  where: string,
): void {
  for (const [name, key] of Object.entries({ id, document })) {
    const bytes = Buffer.byteLength(key);
    if (bytes <= MAX_KEY_BYTES) continue;
    throw new InputError({
      where: `${where}: passage ${excerpt(id)}`,
      expected: `an id and a document of at most ${MAX_KEY_BYTES} bytes, as stores keep them`,
      got: `${name} of ${bytes}`,
      remedy: "give it a shorter one",
    });
  }
  if (unstorableText({ id, title, text, document, metadata }) === undefined) return;
  const got = `others in the passage ${JSON.stringify(id)}`;
  throw new InputError({ where, ...UNSTORABLE, got });
}
