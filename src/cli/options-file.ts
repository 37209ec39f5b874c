/** `--options FILE`: options of a training run as JSON, by their names in the library. */

import { readFile } from "node:fs/promises";
import { type InputError, systemProblem } from "../io/errors.ts";
import { type OptionTable, option, path } from "../options/option.ts";
import { problemOfGiven } from "../options/resolve.ts";
import { OptionsFileError } from "./options-file-error.ts";

/** The flag of commands that take a file of options. */
export const OPTIONS_FILE = {
  options: option(path().optional(), {
    help: "more options as JSON, by their names in the library; flags come before it",
    placeholder: "FILE.json",
    group: "Training",
  }),
};

/**
 * Reads a file such as `{"seed": 5, "copyAttention": 1}`.
 *
 * @param table the options that it can have; `json` is a flag alone
 * @throws {OptionsFileError} if it is not an object in JSON, for an unknown name and a value out of
 *   range
 */
export async function readOptions(file: string, table: OptionTable): Promise<object> {
  const { json: _, ...options } = table;
  const problem = (got: string, cause: unknown): InputError =>
    new OptionsFileError(
      { where: file, expected: "options as a JSON object", got, remedy: "correct the file" },
      { cause },
    );
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw problem(systemProblem(cause), cause);
  });
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (cause) {
    throw problem((cause as Error).message, cause);
  }
  const mistake = problemOfGiven(options, given, file);
  if (mistake) throw new OptionsFileError(mistake);
  return given as object;
}
