/** Whether a text contains a phrase, in any script. */

import { keysOf, tokensOf } from "../../salient-spans/tokens.ts";

/**
 * Whether the tokens of `phrase` occur in sequence in `text`, regardless of case. In scripts
 * without spaces, characters are tokens, because dictionaries split a phrase by its context.
 */
export function containsPhrase(text: string, phrase: string): boolean {
  const keys = (part: string): string => ` ${keysOf(tokensOf(part)).join(" ")} `;
  return keys(text).includes(keys(phrase));
}
