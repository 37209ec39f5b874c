/** Texts that every store keeps as they are. */

import { InputError } from "../../io/errors.ts";
import type { Passage } from "../../text/passage.ts";

/** @throws {InputError} for a passage with a character 0, or with half of a surrogate pair */
export function checkStorable({ id, title, text, document = "" }: Passage, where: string): void {
  const isStorable = (part: string): boolean =>
    !/\p{Surrogate}/u.test(part) && !part.includes("\0");
  if ([id, title, text, document].every(isStorable)) return;
  throw new InputError({
    where,
    expected: "texts of Unicode without the character U+0000, as stores keep them",
    got: `others in the passage ${JSON.stringify(id)}`,
    remedy: "remove such characters from the passages",
  });
}
