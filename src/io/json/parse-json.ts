/** JSON.parse with limits: without them, a few megabytes of brackets take seconds and gigabytes. */

import { InputError } from "../errors.ts";

/** Records and configurations have less than ten levels. */
const MAX_DEPTH = 100;
/** A training record with 100 passages has about 500 values. */
const MAX_VALUES = 500_000;

/**
 * Parses JSON. The limits are checked before anything is allocated.
 *
 * @throws {SyntaxError} if the text is not JSON.
 * @throws {InputError} if it has more than 100 levels, or more than `maxValues` commas and opening
 * brackets.
 */
export function parseJson(text: string, where: string, maxValues = MAX_VALUES): unknown {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) throw beyond(where, `${MAX_DEPTH} levels of nesting`);
      values++;
    } else if (code === COMMA) values++;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--;
    if (values > maxValues) throw beyond(where, `${maxValues} values`);
  }
  return JSON.parse(text);
}

/**
 * Parses the JSON of records, as programs and people write it: with comments and trailing commas
 * (JSON5), and with `NaN`, which is null (Python). Integers of 17 digits and more are texts,
 * because they identify something, and some of them would be the same number.
 *
 * @throws as {@link parseJson} does.
 */
export function parseRecords(text: string, where: string, maxValues?: number): unknown {
  const exact = withTextIds(text);
  try {
    return parseJson(exact, where, maxValues);
  } catch (error) {
    const strict = withoutExtensions(exact);
    if (strict === exact || error instanceof InputError) throw error;
    return parseJson(strict, where, maxValues);
  }
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"?`;
const COMMENTS = new RegExp(String.raw`${STRING}|//[^\n]*|/\*[^]*?(?:\*/|$)`, "gs");
const OTHERS = new RegExp(String.raw`${STRING}|,(?=\s*[}\]])|-?\b(?:NaN|Infinity)\b`, "gs");

const withoutExtensions = (text: string): string =>
  text
    .replace(COMMENTS, (found) => (found.startsWith("/") ? " " : found))
    .replace(OTHERS, (found) => (found.startsWith('"') ? found : found === "," ? "" : "null"));

function withTextIds(text: string): string {
  if (!/\d{17}/.test(text)) return text;
  const parts: string[] = [];
  let copied = 0;
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) === QUOTE) i = endOfString(text, i);
    else if (isNumeral(text.charCodeAt(i))) {
      const start = i;
      while (isNumeral(text.charCodeAt(i + 1))) i++;
      const number = text.slice(start, i + 1);
      if (!/^-?\d{17,}$/.test(number)) continue;
      parts.push(text.slice(copied, start), `"${number}"`);
      copied = i + 1;
    }
  }
  return [...parts, text.slice(copied)].join("");
}

/** A character of a number, or of `true`, `false` and `null` with an e. */
const isNumeral = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || "+-.eE".includes(String.fromCharCode(code));

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
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
    code: "ERR_REATT_TOO_LARGE",
    where,
    expected: `JSON with at most ${limit}`,
    got: "more",
    remedy: "check the file, or split it",
  });
}
