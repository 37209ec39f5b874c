/** Files with one JSON value, of a known size at most. */

import { InputError } from "../errors.ts";
import { readSmallFile } from "../small-file.ts";
import { parseJson } from "./parse-json.ts";

/** What a file has at most. */
interface Limits {
  readonly bytes: number;
  /** Commas and opening brackets. Default: that of `parseJson`. */
  readonly values?: number | undefined;
}

/**
 * Reads a file of JSON.
 *
 * @param noJson makes the error for a text that is none
 * @throws {InputError} if the file cannot be read, is too large, or is no JSON
 */
export async function readJsonFile(
  file: string,
  { bytes, values }: Limits,
  noJson: (cause: unknown) => InputError,
): Promise<unknown> {
  const text = (await readSmallFile(file, bytes)).toString();
  try {
    return parseJson(text, file, values);
  } catch (cause) {
    throw cause instanceof InputError ? cause : noJson(cause);
  }
}
