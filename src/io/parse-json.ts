/** JSON.parse with limits. A few megabytes of brackets would otherwise take seconds and gigabytes. */

import { InputError } from "./errors.ts";

/** Records and configurations have less than ten levels. */
const MAX_DEPTH = 100;
/** A training record with 100 passages has 103 objects and arrays. */
const MAX_CONTAINERS = 100_000;

/**
 * Parses JSON. The limits are checked before anything is allocated.
 *
 * @throws {SyntaxError} if the text is not JSON.
 * @throws {InputError} if it has more than 100 levels or more objects and arrays than the limit.
 */
export function parseJson(text: string, where: string, maxContainers = MAX_CONTAINERS): unknown {
  let depth = 0;
  let containers = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) throw beyond(where, `${MAX_DEPTH} levels of nesting`);
      if (++containers > maxContainers) throw beyond(where, `${maxContainers} objects and arrays`);
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--;
  }
  return JSON.parse(text);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d];
const [OPEN_ARRAY, CLOSE_ARRAY] = [0x5b, 0x5d];

/** The position of the closing quote, or the end of the text without one. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

function beyond(where: string, limit: string): InputError {
  return new InputError({
    where,
    expected: `JSON with at most ${limit}`,
    got: "more",
    remedy: "check the file, or split it",
  });
}
