/** JSON Lines, plain or gzip: one JSON value a line, UTF-8. Format: https://jsonlines.org */

import { InputError } from "../errors.ts";
import { decodeUtf8, readTextLines } from "../text-file.ts";
import { parseJson } from "./parse-json.ts";

const EXCERPT_LENGTH = 40; // characters of a bad line in an error

/** One value of a file of JSON records. */
export interface JsonRecord {
  /** `FILE:LINE`, or `FILE[INDEX]` in a JSON array; for error messages. */
  readonly where: string;
  readonly value: unknown;
}

export interface JsonLine extends JsonRecord {
  /** Counted from 1, blank lines included. */
  readonly line: number;
  /** Bytes before the line; of a gzip file, in the decompressed text. */
  readonly offset: number;
}

/**
 * Reads a JSON Lines file in bounded memory. The first bytes decide whether the file is gzip. A
 * byte order mark, CRLF line ends and blank lines are accepted.
 *
 * @throws {InputError} with file and line: no such file, damaged gzip, not UTF-8, not JSON, a line
 * over 64 MiB or beyond the limits of `parseJson`.
 *
 * @param skip is called for a line that is not JSON, which is then left out. Default: it is thrown
 * @param parse parses a line
 */
export async function* readJsonLines(
  file: string,
  signal?: AbortSignal,
  skip: (problem: InputError) => void = fail,
  parse = parseJson,
): AsyncGenerator<JsonLine, void> {
  for await (const { text, ...place } of readTextLines(file, "a JSON Lines file", signal)) {
    if (text.trim() === "") continue;
    let value: unknown;
    try {
      value = parseLine(text, place.where, parse);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      skip(error);
      continue;
    }
    yield { ...place, value };
  }
}

function fail(problem: InputError): never {
  throw problem;
}

/** Parses one line of a JSON Lines file. @throws {InputError} if it is not UTF-8 or not JSON. */
export function parseJsonLine(bytes: Buffer, where: string): unknown {
  return parseLine(decodeUtf8(bytes, where), where, parseJson);
}

function parseLine(text: string, where: string, parse: typeof parseJson): unknown {
  try {
    return parse(text, where);
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    const excerpt = text.trim().slice(0, EXCERPT_LENGTH);
    const got = JSON.stringify(excerpt.length < text.trim().length ? `${excerpt}…` : excerpt);
    throw new InputError(
      { where, expected: "one JSON object", got, remedy: "write one JSON object a line" },
      { cause },
    );
  }
}
